// Pooling of a convolution's result, and its gradient, as passes of their own: for kernels of the
// convolution that do not pool (ops/fused_pool.h). Host functions that launch kernels on a stream.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/convolution.h"
#include "core/dtype.h"
#include "ops/fused_pool.h"

namespace troika::cuda {

// The pooling that a kernel of a convolution applies to its result, or one of a gradient undoes.
struct Pooling {
  FusedPool kind = FusedPool::none;
  uint8_t* mask = nullptr;  // forward writes it, gradients read it
  bool is_plain = false;    // the pooled image is [n, k, pixels]; its mask is channels last

  __host__ __device__ explicit operator bool() const { return kind != FusedPool::none; }
};

// y [pixels of v, k] becomes pooled, of a quarter of the pixels, and its mask. `relu`: y is that of
// a ReLU.
void pool_image(DType dtype, const Convolution& v, const Pooling& pooling, bool relu, const void* y, void* pooled,
                cudaStream_t stream);

// dy of the pooled image becomes that of y.
void expand_gradient(DType dtype, const Convolution& v, const Pooling& pooling, const void* pooled_dy, void* dy,
                     cudaStream_t stream);

}  // namespace troika::cuda
