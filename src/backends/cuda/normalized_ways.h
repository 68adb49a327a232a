// Ways of a convolution that applies a batch_norm2d and a ReLU to its input, and of its weight
// gradient, by kernels that do not: a pass writes the normalised image to scratch.
#pragma once

#include "backends/cuda/batch_norm2d_passes.h"
#include "backends/cuda/fastest_way.h"
#include "backends/cuda/kernels.h"

namespace troika::cuda {

class NormalizedWays {
 public:
  // The node's x is the first of the problem's tensors. Weight, bias, mean and inv_std are the
  // node's last inputs, and in the problem from `place` on.
  NormalizedWays(const CudaDevice& device, const KernelRequest& request, size_t place);

  explicit operator bool() const { return bool{normalize_}; }
  size_t place() const { return place_; }
  size_t count() const { return *this ? kCount : 0; }  // of the problem's tensors for this
  // Returns the way from one that reads a normalised image. Without a batch_norm2d it is the same.
  Way whole(Way way) const;
  // Adds the tensors and the name to a problem that has the others.
  void add_to(Problem& problem) const;
  // Copies the node's last inputs to a run's tensors.
  void copy(const Arguments& arguments, void** tensors) const;

 private:
  static constexpr size_t kCount = 4;

  const size_t place_;
  NormalizeRelu normalize_;  // empty: there is none
  TensorType image_;
};

}  // namespace troika::cuda
