// conv2d and its gradients by plain loops over any shape: for small convolutions, and what cuDNN
// has no engine for. Host functions that launch kernels on a stream; every output element is
// written.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/convolution.h"
#include "core/dtype.h"

namespace troika::cuda {

void direct_conv2d(DType dtype, const Convolution& v, const void* x, const void* weights, void* y, cudaStream_t stream);
void direct_conv2d_input_gradient(DType dtype, const Convolution& v, const void* weights, const void* dy, void* dx,
                                  cudaStream_t stream);
void direct_conv2d_weight_gradient(DType dtype, const Convolution& v, const void* x, const void* dy, float* dweights,
                                   cudaStream_t stream);

}  // namespace troika::cuda
