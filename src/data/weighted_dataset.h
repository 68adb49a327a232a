// A dataset whose samples have weights in losses.
#pragma once

#include <memory>
#include <vector>

#include "data/dataset.h"

namespace troika {

class WeightedDataset final : public Dataset {
 public:
  // The samples of `dataset`, which is no stream; sample i has weights[i] in place of its own.
  WeightedDataset(std::shared_ptr<const Dataset> dataset, std::vector<float> weights);

  void read(const int64_t* indices, int64_t n, void* inputs, int32_t* labels, float* values) const override;
  float weight_of(int64_t index) const override { return weights_[static_cast<size_t>(index)]; }
  bool is_fixed() const override { return dataset_->is_fixed(); }
  std::optional<ByteSamples> byte_samples() const override { return dataset_->byte_samples(); }

 private:
  const std::shared_ptr<const Dataset> dataset_;
  const std::vector<float> weights_;
};

}  // namespace troika
