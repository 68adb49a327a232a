// Weights of classes times weights of samples.
#include "train/label_weights.h"

#include <algorithm>

namespace troika {

LabelWeights::LabelWeights(const StepSpec& step) : of_classes_(step.class_weights), ignored_(step.labels.ignored) {}

void LabelWeights::weigh(BatchView& view, const float* of_samples) {
  const int64_t labels = view.labels ? view.label_size : 1;  // of a sample; values have one weight together
  weights_.resize(static_cast<size_t>(view.rows * labels));
  for (int64_t row = 0; row < view.rows; ++row)
    for (int64_t i = row * labels; i < (row + 1) * labels; ++i) {
      float& weight = weights_[static_cast<size_t>(i)];
      weight = of_samples ? of_samples[row] : 1;
      if (!of_classes_.empty() && view.labels[i] != ignored_)
        weight *= of_classes_[static_cast<size_t>(view.labels[i])];
    }
  view.weights = weights_.data();
  view.weight = sum_of_weights(view, {view.first, view.first + view.rows}, ignored_);
}

double sum_of_weights(const BatchView& view, Range rows, std::optional<int32_t> ignored) {
  const int64_t labels = view.labels ? view.label_size : 1;
  double sum = 0;
  for (int64_t i = (rows.begin - view.first) * labels; i < (rows.end - view.first) * labels; ++i)
    if (!view.labels || view.labels[i] != ignored) sum += static_cast<double>(view.weights[i]);
  return sum;
}

LabelSum sum_of_labels(const BatchView& view, Range rows, int64_t label_size, std::optional<int32_t> ignored) {
  if (rows.size() == 0) return {};
  int64_t counted = rows.size() * std::max<int64_t>(label_size, 1);
  if (view.labels && ignored) {
    const int32_t* const labels = view.labels + (rows.begin - view.first) * label_size;
    counted -= std::count(labels, labels + counted, *ignored);
  }
  return {counted, view.weights ? sum_of_weights(view, rows, ignored) : static_cast<double>(counted)};
}

}  // namespace troika
