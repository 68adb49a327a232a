// Counts weights, and reads the samples of another dataset.
#include "data/weighted_dataset.h"

#include <utility>

#include "core/text.h"

namespace troika {
namespace {

SampleForm weighted(SampleForm form) {
  form.is_weighted = true;
  return form;
}

}  // namespace

WeightedDataset::WeightedDataset(std::shared_ptr<const Dataset> dataset, std::vector<float> weights)
    : Dataset(weighted(dataset->form()), dataset->size()), dataset_(std::move(dataset)), weights_(std::move(weights)) {
  if (is_stream())
    throw Error(Status::invalid_argument, "dataset: is a stream, which has no indices; need a dataset of n samples");
  if (static_cast<int64_t>(weights_.size()) != size())
    throw Error(Status::invalid_argument,
                text("dataset: there are ", weights_.size(), " weights, need one for each of ", size(), " samples"));
}

void WeightedDataset::read(const int64_t* indices, int64_t n, void* inputs, int32_t* labels, float* values) const {
  dataset_->read(indices, n, inputs, labels, values);
}

}  // namespace troika
