// The ways that Hopper's kernels add to those of cuDNN. None if the device's GPU is another, or if
// the kernels were not built. Each must prove itself.
#pragma once

#include "backends/cuda/convolution.h"
#include "backends/cuda/fastest_way.h"
#include "core/dtype.h"

namespace troika::cuda::hopper {

// Tensors: x, weights, y, and the bias or, if `has_moments`, the moments. Unless `norm_place` is 0,
// weight, bias, mean and inv_std of the batch_norm2d before are there. `finish` is launched
// afterwards, if there are no moments.
std::vector<Way> conv2d_ways(const CudaDevice& device, DType dtype, const Convolution& v, bool has_moments,
                             size_t norm_place, const LaunchWay& finish);
// Whether there is such a way with a batch_norm2d, and one of the weight gradient.
bool normalizes_input(const CudaDevice& device, DType dtype, const Convolution& v);

// The number of rows of sums of a conv2d, and of its input gradient; 0 if there is no such way.
int64_t conv2d_rows_of_sums(const CudaDevice& device, DType dtype, const Convolution& v);
int64_t input_gradient_rows_of_sums(const CudaDevice& device, DType dtype, const Convolution& v);

// Tensors: weights, dy, dx, and, if `has_sums`, x, y, weight, bias, mean and inv_std of the
// batch_norm2d, and the sums. If `has_addend`, y is the mask of the ReLU, and the addend comes
// before the sums. It has every `addend_stride`-th row and column.
std::vector<Way> conv2d_input_gradient_ways(const CudaDevice& device, DType dtype, const Convolution& v, bool has_sums,
                                            bool has_addend, int64_t addend_stride);
// Whether there is such a way for an addend with gaps.
bool adds_without_gaps(const CudaDevice& device, DType dtype, const Convolution& v, int64_t addend_stride);

// Tensors: x, dy, dweights in f32, scratch, and if `normalizes` weight, bias, mean and inv_std of
// the batch_norm2d before. `what` names the node in messages.
std::vector<Way> conv2d_weight_gradient_ways(CudaDevice& device, DType dtype, const Convolution& v, bool normalizes,
                                             const std::string& what);

}  // namespace troika::cuda::hopper
