// Checks, holds and copies the caller's arrays.
#include "data/array_dataset.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace troika {
namespace {

int64_t count_classes(const std::vector<int32_t>& labels) {
  int64_t classes = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0)
      throw Error(Status::invalid_argument, text("dataset: label ", i, " is ", labels[i], ", need at least 0"));
    classes = std::max(classes, int64_t{labels[i]} + 1);
  }
  return classes;
}

int64_t count_samples(const std::vector<float>& values, int64_t value_size) {
  if (value_size < 1)
    throw Error(Status::invalid_argument, text("dataset: value_size is ", value_size, ", need at least 1"));
  return static_cast<int64_t>(values.size()) / value_size;
}

void check_inputs(const Dataset& dataset, size_t found) {
  const int64_t need = dataset.size() * dataset.sample_elements();
  if (static_cast<int64_t>(found) != need)
    throw Error(Status::invalid_argument, text("dataset: inputs have ", found, " elements, ", dataset.size(),
                                               " samples of ", dataset.sample_shape(), " need ", need));
}

}  // namespace

ArrayDataset::ArrayDataset(Shape sample_shape, std::vector<float> inputs, std::vector<int32_t> labels)
    : Dataset(std::move(sample_shape), static_cast<int64_t>(labels.size()), count_classes(labels), 0),
      inputs_(std::move(inputs)),
      labels_(std::move(labels)) {
  check_inputs(*this, inputs_.size());
}

ArrayDataset::ArrayDataset(Shape sample_shape, std::vector<float> inputs, std::vector<float> values, int64_t value_size)
    : Dataset(std::move(sample_shape), count_samples(values, value_size), 0, value_size),
      inputs_(std::move(inputs)),
      values_(std::move(values)) {
  check_inputs(*this, inputs_.size());
}

void ArrayDataset::read(const int64_t* indices, int64_t n, void* inputs, int32_t* labels, float* values) const {
  auto* const floats = static_cast<float*>(inputs);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t sample = indices[i];
    if (floats)
      std::copy_n(inputs_.data() + sample * sample_elements(), sample_elements(), floats + i * sample_elements());
    if (has_labels() && labels) labels[i] = labels_[static_cast<size_t>(sample)];
    if (!has_labels() && values)
      std::copy_n(values_.data() + sample * value_size(), value_size(), values + i * value_size());
  }
}

}  // namespace troika
