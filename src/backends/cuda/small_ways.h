// The ways that kernels for small convolutions add to those of cuDNN. None if they do not take the
// convolution. Each must prove itself.
#pragma once

#include "backends/cuda/convolution.h"
#include "backends/cuda/fastest_way.h"
#include "backends/cuda/pooled_ways.h"
#include "core/dtype.h"

namespace troika::cuda {

// f32 is rounded to TF32, which the caller must allow.
//
// Tensors: x, weights, y, and the bias, if there is one. Bias, ReLU and pooling are applied on the
// way. Here and below, the mask of a pooling follows.
std::vector<Way> small_conv2d_ways(const CudaDevice& device, DType dtype, const Convolution& v, bool bias, bool relu,
                                   const PooledWays& pooled);

// Tensors: weights, dy and dx.
std::vector<Way> small_input_gradient_ways(const CudaDevice& device, DType dtype, const Convolution& v,
                                           const PooledWays& pooled);

// Tensors: x, dy, dweights in f32, and dbias in f32 if there is one. Scratch comes last.
std::vector<Way> small_weight_gradient_ways(const CudaDevice& device, DType dtype, const Convolution& v, bool bias,
                                            const PooledWays& pooled);

// Whether there is a way of each of the three.
bool has_small_ways(const CudaDevice& device, DType dtype, const Convolution& v);

}  // namespace troika::cuda
