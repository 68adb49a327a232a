// The ways that kernels for small convolutions add to those of cuDNN. None if they do not take the
// convolution. Each must prove itself.
#pragma once

#include "backends/cuda/convolution.h"
#include "backends/cuda/fastest_way.h"
#include "core/dtype.h"

namespace troika::cuda {

// f32 is rounded to TF32, which the caller must allow.
//
// Tensors: x, weights, y, and the bias, if there is one. Bias and ReLU are applied on the way.
std::vector<Way> small_conv2d_ways(const CudaDevice& device, DType dtype, const Convolution& v, bool bias, bool relu);

// Tensors: weights, dy and dx.
std::vector<Way> small_input_gradient_ways(const CudaDevice& device, DType dtype, const Convolution& v);

// Tensors: x, dy, dweights in f32, dbias in f32 if there is one, and scratch.
std::vector<Way> small_weight_gradient_ways(const CudaDevice& device, DType dtype, const Convolution& v, bool bias);

}  // namespace troika::cuda
