// A synthetic dataset for tests and benchmarks: made while it is read, learnable, and the same for
// a seed in every version.
#pragma once

#include <vector>

#include "data/dataset.h"

namespace troika {

// Sample i has label i mod classes, and is near the centre of that label: each element is half the
// centre's, and up to half the sample's own noise. Both are windows of one table of random numbers.
// So reading runs at the speed of memory, and a benchmark measures training.
class SyntheticDataset final : public Dataset {
 public:
  SyntheticDataset(Shape sample_shape, int64_t n, int32_t classes, uint64_t seed);

  void read(const int64_t* indices, int64_t n, void* inputs, int32_t* labels, float* values) const override;

 private:
  void read_sample(int64_t sample, int64_t label, float* out) const;

  int64_t labels_;  // labels, which samples get in turn
  uint64_t seed_;
  std::vector<float> table_;  // numbers in [-1, 1)
};

}  // namespace troika
