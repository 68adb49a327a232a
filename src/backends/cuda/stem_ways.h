// The ways of a convolution of an image of one channel in 16 bits, or in f32 that may be rounded to
// TF32: the kernels for all types, and those on tensor cores, which must prove themselves.
#pragma once

#include "backends/cuda/convolution.h"
#include "backends/cuda/fastest_way.h"
#include "backends/cuda/pooled_ways.h"
#include "core/dtype.h"

namespace troika::cuda {

// Tensors: x, weights, y, the bias, if there is one, or the moments, and the mask of a pooling.
// Scratch comes last. `add_moments` is empty, or launches kernels that compute moments from y.
std::vector<Way> stem_ways(const CudaDevice& device, DType dtype, const Convolution& v, bool bias, bool relu,
                           const LaunchWay& add_moments, size_t moment_bytes, const PooledWays& pooled);

// The number of rows of moments; 0 if there is no such way.
int64_t stem_rows_of_sums(const CudaDevice& device, DType dtype, const Convolution& v);

// `problem` has its names and settings, and lacks tensors.
KernelChoice select_stem_weight_gradient(CudaDevice& device, const KernelRequest& request, const Convolution& v,
                                         Problem problem);

}  // namespace troika::cuda
