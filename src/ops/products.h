// Operands of conv2d, linear and their gradients.
#pragma once

#include <cstddef>

namespace troika {

namespace product {
enum Input : size_t { x, weight, bias, kInputs };  // bias or none
enum Output : size_t { y, mask };                  // mask if `pool` (ops/fused_pool.h)
}  // namespace product

// Operands of conv2d_input_gradient and linear_input_gradient.
namespace input_gradient {
// The inputs after dy are those of the batch_norm2d with a ReLU before the convolution, or none:
// then dx is the gradient before the ReLU, and its sums are an output (passes/fuse_sums.cpp). With
// an addend, another gradient that is added to dx before, norm_y is the mask of the ReLU. If
// `pool`, only its mask follows.
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
enum Input : size_t { x, dy, kInputs, pool_mask = kInputs };  // pool_mask if `pool`
enum Output : size_t { dweight, dbias };                      // dbias if `bias`
}  // namespace weight_gradient

}  // namespace troika
