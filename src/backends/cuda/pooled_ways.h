// Ways of a convolution that pools its result, and of its gradients, by kernels that do not: the
// pooling, or its gradient, is a pass over an image in scratch.
#pragma once

#include <algorithm>
#include <array>

#include "backends/cuda/convolution.h"
#include "backends/cuda/fastest_way.h"
#include "backends/cuda/fused_pool.h"
#include "backends/cuda/kernels.h"

namespace troika::cuda {

// The pooling of a node, or none.
class PooledWays {
 public:
  // mask_place: among the problem's tensors.
  PooledWays(DType dtype, const Convolution& v, const Node& node, size_t mask_place)
      : dtype_(dtype), v_(v), kind_(fused_pool_of(node)), is_plain_(has_plain_pool(node)), mask_place_(mask_place) {}

  explicit operator bool() const { return kind_ != FusedPool::none; }
  Pooling of(void* const* tensors) const;  // with the mask of a run

  // Each returns the way of the node from one over a whole image: y, which is the third tensor, or
  // dy, the second. Without a pooling these are the same.
  Way forward(Way way, bool relu) const;
  Way backward(Way way) const;

  // Corrects the layout of the pooled image, or of its gradient, among those of the node's tensors.
  void set_layout(LayoutPtr& of_pooled) const {
    if (is_plain_) of_pooled = nullptr;
  }

  // Adds the pooling to the problem's name, and forward the mask to its outputs, as the first.
  // Masks of ways that round otherwise may differ, so a forward problem gets inputs whose sums are
  // exact, and then masks must be equal. `bias`: the fourth tensor is the bias.
  void add_to(Problem& problem) const;
  void add_mask_to(Problem& problem, bool bias) const;

 private:
  size_t image_bytes() const { return static_cast<size_t>(v_.y_elements()) * size_of(dtype_); }

  const DType dtype_;
  const Convolution v_;
  const FusedPool kind_;
  const bool is_plain_;
  const size_t mask_place_;
};

// Returns the tensors of a weight gradient's problem: x, dy, dweights, dbias if there is one, and
// the mask of a pooling or the numbers of a batch_norm2d.
inline std::array<void*, 8> weight_gradient_tensors(const Arguments& a) {
  std::array<void*, 8> tensors = {a.inputs[0], a.inputs[1], a.outputs[0]};
  auto* more = &tensors[3];
  if (a.outputs.size() > 1) *more++ = a.outputs[1];
  std::copy(a.inputs.begin() + 2, a.inputs.end(), more);
  return tensors;
}

// Returns how masks of windows differ; empty: not at all.
std::string difference_of_masks(const std::vector<float>& found, const std::vector<float>& expected);

}  // namespace troika::cuda
