// conv2d of small images with few channels, and its gradients, on tensor cores of compute
// capability 8.0 and later. Factors in f32 are rounded to TF32. Host functions that launch kernels
// on a stream.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/convolution.h"
#include "backends/cuda/fused_pool.h"
#include "core/dtype.h"

namespace troika::cuda {

// The kernels need to know this of a GPU.
struct SmallConv2dLimits {
  int multiprocessors;
  size_t shared_bytes;  // that a block may have
};

// Whether the kernels take it: images of up to 32 x 32, 2 to 64 channels on both sides, a
// kernel of up to 7 x 7, stride and dilation 1, one group. The weights must fit into shared memory.
bool takes_small_conv2d(DType dtype, const Convolution& v, const SmallConv2dLimits& limits);
bool takes_small_input_gradient(DType dtype, const Convolution& v, const SmallConv2dLimits& limits);
bool takes_small_weight_gradient(DType dtype, const Convolution& v, const SmallConv2dLimits& limits);

// bias may be null; NaN stays through the ReLU. If y is pooled, which needs even sizes, its mask is
// written too.
void small_conv2d(DType dtype, const Convolution& v, const void* x, const void* weights, const float* bias, bool relu,
                  void* y, const Pooling& pooling, const SmallConv2dLimits& limits, cudaStream_t stream);

// In this and the next, dy is that of the pooled y, if `pooling` is there.
void small_input_gradient(DType dtype, const Convolution& v, const void* weights, const void* dy,
                          const Pooling& pooling, void* dx, const SmallConv2dLimits& limits, cudaStream_t stream);

// dbias may be null. Sums are made in an order that depends on the shape and the limits alone.
void small_weight_gradient(DType dtype, const Convolution& v, const void* x, const void* dy, const Pooling& pooling,
                           float* dweights, float* dbias, void* scratch, const SmallConv2dLimits& limits,
                           cudaStream_t stream);
size_t small_weight_gradient_scratch_bytes(DType dtype, const Convolution& v, bool bias,
                                           const SmallConv2dLimits& limits);

}  // namespace troika::cuda
