// Operands of batch_norm2d and of the ops that its gradient and SyncBatchNorm add.
#pragma once

#include <cstddef>

namespace troika {

// The inference form has the same inputs, and only the output y.
namespace batch_norm2d {
enum Input : size_t {
  x,
  weight,
  bias,
  running_mean,  // all of the next three or none
  running_var,
  num_batches_tracked,
  residual,       // or none
  moments,        // of all ranks, or none (batch_norm2d_moments)
  absorbed_bias,  // or none: the bias that x lacks, added only to the tracked mean (passes/absorb_biases.cpp)
  kInputs
};
// y is not written if `skips_y`: the convolutions that read it compute it (passes/fuse_norms.cpp).
// mask if `mask`: bits for the elements of y, channels fastest, 1 if the ReLU lets the gradient
// pass (passes/fuse_sums.cpp).
enum Output : size_t { y, mean, inv_std, mask };
}  // namespace batch_norm2d

namespace batch_norm2d_gradient {
enum Input : size_t {
  x,
  weight,
  mean,
  inv_std,
  y,  // if `relu`; or the mask of the ReLU
  dy,
  own_sums,  // this and the next: with SyncBatchNorm, or none (batch_norm2d_gradient_sums)
  all_sums,
  addend,  // or none: another gradient of y, added to dy (passes/fuse_adds.cpp, ops/addend.h)
  kInputs
};
// dz if `residual`; dbias_too, which is dbias once more, if `has_dbias_too`
// (passes/share_sums.cpp).
enum Output : size_t { dx, dweight, dbias, dz };
}  // namespace batch_norm2d_gradient

namespace batch_norm2d_gradient_sums {
enum Input : size_t { x, mean, y, dy, kInputs };
enum Output : size_t { sums, dz };
}  // namespace batch_norm2d_gradient_sums

}  // namespace troika
