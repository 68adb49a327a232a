// The kernels of conv2d.h, by the filter and the number of channels.
#pragma once

#include "backends/cuda/hopper/conv2d.h"

namespace troika::cuda::hopper {

// 64 channels, images of 28x28, 32x32 and 56x56.
bool takes_conv2d_64(const Convolution& v);
int rows_of_sums_64(const Convolution& v, int multiprocessors);
void conv2d_64(const Convolution& v, const void* x, const NormalizedRelu& norm, const void* weights, void* y,
               float* moments, int multiprocessors, cudaStream_t stream);
void conv2d_64_input_gradient(const Convolution& v, const void* weights, const void* dy, void* dx,
                              const NormalizedRelu& relu, float* sums, int multiprocessors, cudaStream_t stream);
void conv2d_64_weight_gradient(const Convolution& v, const void* x, const NormalizedRelu& norm, const void* dy,
                               float* dweights, void* scratch, unsigned* turns, int multiprocessors,
                               cudaStream_t stream);
size_t conv2d_64_weight_gradient_scratch_bytes(const Convolution& v, int multiprocessors);

// 64 channels to 128, images of 28x28, 32x32 and 56x56 to half of that: stride 2. There is no
// weight gradient. An addend may have a stride of 2.
bool takes_conv2d_64_halving(const Convolution& v);
int rows_of_sums_64_halving(const Convolution& v, int multiprocessors);
int rows_of_gradient_sums_64_halving(const Convolution& v, int multiprocessors);
void conv2d_64_halving(const Convolution& v, const void* x, const void* weights, void* y, float* moments,
                       int multiprocessors, cudaStream_t stream);
void conv2d_64_halving_gradient(const Convolution& v, const void* weights, const void* dy, void* dx,
                                const NormalizedRelu& relu, float* sums, int multiprocessors, cudaStream_t stream);

// 128 and 256 channels of 14x14, 256 and 512 of 7x7, 512 of 4x4.
bool takes_conv2d_wide(const Convolution& v);
int rows_of_sums_wide(const Convolution& v, int multiprocessors);
void conv2d_wide(const Convolution& v, const void* x, const void* weights, void* y, float* moments, int multiprocessors,
                 cudaStream_t stream);
void conv2d_wide_input_gradient(const Convolution& v, const void* weights, const void* dy, void* dx,
                                const NormalizedRelu& relu, float* sums, int multiprocessors, cudaStream_t stream);
void conv2d_wide_weight_gradient(const Convolution& v, const void* x, const void* dy, float* dweights, void* scratch,
                                 unsigned* turns, int multiprocessors, cudaStream_t stream);
size_t conv2d_wide_weight_gradient_scratch_bytes(const Convolution& v, int multiprocessors);

// A filter of 1x1, stride 1 or 2, channels in multiples of 64. With stride 2, the input gradient
// has no sums: their rows are 0.
bool takes_conv2d_1x1(const Convolution& v);
bool takes_conv2d_1x1_input_gradient(const Convolution& v);
bool takes_gaps_1x1(const Convolution& v);  // of 2, in an addend
int rows_of_sums_1x1(const Convolution& v, int multiprocessors);
int rows_of_gradient_sums_1x1(const Convolution& v, int multiprocessors);
void conv2d_1x1(const Convolution& v, const void* x, const void* weights, void* y, float* moments, int multiprocessors,
                cudaStream_t stream);
void conv2d_1x1_input_gradient(const Convolution& v, const void* weights, const void* dy, void* dx,
                               const NormalizedRelu& relu, float* sums, int multiprocessors, cudaStream_t stream);
bool takes_conv2d_1x1_weight_gradient(const Convolution& v);
void conv2d_1x1_weight_gradient(const Convolution& v, const void* x, const void* dy, float* dweights, void* scratch,
                                unsigned* turns, int multiprocessors, cudaStream_t stream);
size_t conv2d_1x1_weight_gradient_scratch_bytes(const Convolution& v, int multiprocessors);

}  // namespace troika::cuda::hopper
