// Operands of conv2d, linear and their gradients.
#pragma once

#include <cstddef>

namespace troika {

namespace product {
// The inputs after the bias are those of a batch_norm2d with a ReLU before a convolution whose
// kernel applies it (passes/fuse_norms.cpp), or none. Then x is the batch_norm2d's.
enum Input : size_t {
  x,
  weight,
  bias,  // or none
  kInputs,
  norm_weight = kInputs,
  norm_bias,
  norm_mean,
  norm_inv_std,
  kAllInputs
};
enum Output : size_t { y, mask };  // mask if `pool` (ops/fused_pool.h)
}  // namespace product

// Operands of conv2d_input_gradient and linear_input_gradient.
namespace input_gradient {
// The inputs after dy are those of the batch_norm2d with a ReLU before the convolution, or none:
// then dx is the gradient before the ReLU, and its sums are an output (passes/fuse_sums.cpp). With
// an addend, another gradient that is added to dx before, norm_y is the mask of the ReLU. Without
// an addend, there is no norm_y if it was never stored (passes/fuse_norms.cpp). If `pool`, only its
// mask follows.
enum Input : size_t {
  weight,
  dy,
  kInputs,
  pool_mask = kInputs,
  norm_x = kInputs,
  norm_y,
  norm_weight,
  norm_bias,
  norm_mean,
  norm_inv_std,
  addend,  // or none (ops/addend.h)
  kAllInputs
};
enum Output : size_t { dx, sums };  // sums if `sums`
}  // namespace input_gradient

// Operands of conv2d_weight_gradient and linear_weight_gradient.
namespace weight_gradient {
enum Input : size_t {
  x,
  dy,
  kInputs,
  pool_mask = kInputs,    // if `pool`
  norm_weight = kInputs,  // four of a batch_norm2d as in product::Input, or none
  norm_bias,
  norm_mean,
  norm_inv_std,
  kAllInputs
};
enum Output : size_t { dweight, dbias };  // dbias if `bias`
}  // namespace weight_gradient

}  // namespace troika
