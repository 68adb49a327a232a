// Images of a batch_norm2d and a ReLU that were never stored (passes/fuse_norms.cpp), for kernels
// that read them: a pass writes such an image to scratch.
#pragma once

#include "backends/cuda/fastest_way.h"
#include "backends/cuda/kernels.h"

namespace troika::cuda {

// Returns the image that a pass makes of x, the tensor at `x_place`. The image is in place of the
// tensor at `place`. Weight, bias, mean and inv_std of the batch_norm2d are from `norm_place` on.
StandIn normalized_image(const CudaDevice& device, const TensorType& x, size_t x_place, size_t norm_place,
                         size_t place);

// Ways of a convolution that applies them to its input, and of its weight gradient.
class NormalizedWays {
 public:
  // The node's x is the first of the problem's tensors. Weight, bias, mean and inv_std are the
  // node's last inputs, and in the problem from `place` on.
  NormalizedWays(const CudaDevice& device, const KernelRequest& request, size_t place);

  explicit operator bool() const { return image_.has_value(); }
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
  std::optional<StandIn> image_;
  int64_t channels_ = 0;
};

}  // namespace troika::cuda
