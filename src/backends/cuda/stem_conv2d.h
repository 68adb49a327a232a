// conv2d of an image of one channel, and its weights' gradient: bound by memory, and badly served
// by kernels for many channels. Host functions that launch kernels on a stream.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "backends/cuda/convolution.h"
#include "core/dtype.h"

namespace troika::cuda {

// Whether these kernels take it: one input channel, a kernel of up to 11 x 11.
bool is_stem(const Convolution& v);
std::string stem_kernel_name(DType dtype, const Convolution& v);  // "stem_vec8"

// bias may be null; NaN stays through the ReLU.
void stem_conv2d(DType dtype, const Convolution& v, const void* x, const void* weights, const float* bias, bool relu,
                 void* y, cudaStream_t stream);

// dbias may be null.
void stem_weight_gradient(DType dtype, const Convolution& v, const void* x, const void* dy, float* dweights,
                          float* dbias, void* scratch, cudaStream_t stream);
size_t stem_weight_gradient_scratch_bytes(DType dtype, const Convolution& v, bool bias);

}  // namespace troika::cuda
