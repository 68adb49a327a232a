// The weights of a batch's labels in its loss.
#pragma once

#include <optional>
#include <vector>

#include "core/split.h"
#include "plan/step_spec.h"
#include "train/batch_view.h"

namespace troika {

// Keeps memory for its largest batch, so that later ones allocate nothing.
class LabelWeights {
 public:
  explicit LabelWeights(const StepSpec& step);

  // Sets the view's weights, which hold until the next call, and their sum. A label's weight is
  // that of its class times that of its sample. `of_samples` [rows] may be null: 1 each.
  void weigh(BatchView& view, const float* of_samples);

 private:
  const std::vector<float> of_classes_;  // empty: 1 each
  const std::optional<int32_t> ignored_;
  std::vector<float> weights_;
};

// Labels that are not ignored, or samples if there are no labels.
struct LabelSum {
  int64_t counted = 0;
  double weight = 0;
};

// Adds up the labels of `rows` of the batch, which the view has; `label_size` is 0 without labels.
LabelSum sum_of_labels(const BatchView& view, Range rows, int64_t label_size, std::optional<int32_t> ignored);

// Returns the sum of the weights of the view's labels in `rows` of the batch, without ignored
// labels. A sum of few or simple numbers is exact, so that it does not depend on the order.
double sum_of_weights(const BatchView& view, Range rows, std::optional<int32_t> ignored);

}  // namespace troika
