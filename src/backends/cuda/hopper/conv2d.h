// Convolutions on Hopper, in bf16 with sums in f32: filters of 3x3 with stride 1, padding 1 and as
// many channels out as in, filters of 1x1, and some of 3x3 with stride 2, without their weight
// gradient. Host functions that launch kernels on a stream; every output element is written, and
// equal inputs make equal bits.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/convolution.h"
#include "core/dtype.h"

namespace troika::cuda::hopper {

// Whether there are kernels for this one, for its input gradient and for its weights' gradient.
bool takes_conv2d(DType dtype, const Convolution& v);
bool takes_input_gradient(DType dtype, const Convolution& v);
bool takes_weight_gradient(DType dtype, const Convolution& v);

// batch_norm2d with a ReLU, whose result the convolution reads: relu((x - mean) * weight * inv_std
// + bias). x is [n, c, h, w], channels last, in bf16.
//
// With a residual the formula is another. Then a mask says what the ReLU lets pass: a bit for each
// element of x, in the same order. `addend`, like x, is another gradient of the same result, which
// is added to dx before. There are both or neither. If takes_gaps(), the addend may have every
// `addend_stride`-th row and column alone.
struct NormalizedRelu {
  const void* x = nullptr;
  const float *mean = nullptr, *inv_std = nullptr, *weight = nullptr, *bias = nullptr;
  const void *mask = nullptr, *addend = nullptr;
  int64_t addend_stride = 1;
};

// A kernel has at most one block per multiprocessor. Unless `moments` is null, each of its
// rows_of_sums() is written: {pixels, means [k], sums of squared differences from the means [k]} of
// a part of y, as rounded. All parts together are y. If `norm` has a mean, x is the input of that
// batch_norm2d, which normalizes_input() allows; norm.x is not read.
void conv2d(const Convolution& v, const void* x, const NormalizedRelu& norm, const void* weights, void* y,
            float* moments, int multiprocessors, cudaStream_t stream);
bool normalizes_input(const Convolution& v);
int rows_of_sums(const Convolution& v, int multiprocessors);

// Unless `sums` is null, dx is the gradient before the ReLU, and each of the
// rows_of_gradient_sums() is written to `sums`: {pixels, sums of dx [c], sums of dx (x - mean) [c]}
// of a part of dx, as rounded. If there are no rows, `sums` is null.
void conv2d_input_gradient(const Convolution& v, const void* weights, const void* dy, void* dx,
                           const NormalizedRelu& relu, float* sums, int multiprocessors, cudaStream_t stream);
int rows_of_gradient_sums(const Convolution& v, int multiprocessors);
bool takes_gaps(const Convolution& v, int64_t addend_stride);

// The weights' gradient. `turns` has two numbers, 0 at first, that outlive the launch; no other
// launch uses them at the same time. With 64 channels and 3x3, an infinity or NaN in x may reach
// all taps of its channel. `norm` as above.
void conv2d_weight_gradient(const Convolution& v, const void* x, const NormalizedRelu& norm, const void* dy,
                            float* dweights, void* scratch, unsigned* turns, int multiprocessors, cudaStream_t stream);
size_t conv2d_weight_gradient_scratch_bytes(const Convolution& v, int multiprocessors);

}  // namespace troika::cuda::hopper
