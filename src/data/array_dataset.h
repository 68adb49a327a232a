// A dataset of the caller's arrays, held in memory.
#pragma once

#include <vector>

#include "data/dataset.h"

namespace troika {

class ArrayDataset final : public Dataset {
 public:
  // `inputs` [n, sample_shape...] with a class for each sample; no label below 0.
  ArrayDataset(Shape sample_shape, std::vector<float> inputs, std::vector<int32_t> labels);
  // `inputs` [n, sample_shape...] with `values` [n, value_size].
  ArrayDataset(Shape sample_shape, std::vector<float> inputs, std::vector<float> values, int64_t value_size);

  void read(const int64_t* indices, int64_t n, void* inputs, int32_t* labels, float* values) const override;

 private:
  std::vector<float> inputs_;
  std::vector<int32_t> labels_;
  std::vector<float> values_;
};

}  // namespace troika
