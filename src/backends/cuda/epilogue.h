// Work after a convolution or a matrix product: bias and ReLU, sums over rows, conversion to f32.
// Host functions that launch kernels on a stream.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"

namespace troika::cuda {

// y[rows, channels] += bias (null: none), cut at 0 if `relu`; NaN stays.
void add_bias_relu(DType dtype, void* y, const float* bias, bool relu, int64_t rows, int64_t channels,
                   cudaStream_t stream);

// sums[channel] = the sum over rows of x[rows, channels], in an order that depends on the shape
// alone.
void sum_rows(DType dtype, const void* x, float* sums, int64_t rows, int64_t channels, void* scratch,
              cudaStream_t stream);
size_t sum_rows_scratch_bytes(DType dtype, int64_t rows, int64_t channels);

// The second half of such sums: partials[count, n + more_n], added up into sums[n] and
// more_sums[more_n].
void sum_partials(const float* partials, int64_t count, float* sums, int64_t n, float* more_sums, int64_t more_n,
                  cudaStream_t stream);
inline void sum_partials(const float* partials, int64_t count, float* sums, int64_t n, cudaStream_t stream) {
  sum_partials(partials, count, sums, n, nullptr, 0, stream);
}

// to[n] = from[n] in f32.
void widen(DType dtype, const void* from, float* to, int64_t n, cudaStream_t stream);

}  // namespace troika::cuda
