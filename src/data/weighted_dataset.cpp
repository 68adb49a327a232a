// Reads the samples of another dataset.
#include "data/weighted_dataset.h"

#include <utility>

namespace troika {
namespace {

SampleForm weighted(SampleForm form) {
  form.is_weighted = true;
  return form;
}

}  // namespace

WeightedDataset::WeightedDataset(std::shared_ptr<const Dataset> dataset, std::vector<float> weights)
    : Dataset(weighted(dataset->form()), dataset->size()), dataset_(std::move(dataset)), weights_(std::move(weights)) {}

void WeightedDataset::read(const int64_t* indices, int64_t n, void* inputs, int32_t* labels, float* values) const {
  dataset_->read(indices, n, inputs, labels, values);
}

}  // namespace troika
