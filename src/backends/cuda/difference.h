// Comparison of two results of a computation that are stored on a GPU. Host functions that launch
// kernels on a stream.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "graph/graph.h"

namespace troika::cuda {

// Numbers from -size to size by Philox, or bytes of any bits; the same for the same seed.
void fill_with_noise(const TensorType& type, void* to, uint64_t seed, cudaStream_t stream, float size = 1);

// -1, 0 and 1, each plus `offset`: sums of their products are exact, and many are equal.
void fill_with_whole_numbers(const TensorType& type, void* to, uint64_t seed, cudaStream_t stream, float offset = 0);

struct Difference {
  double norm = 0, expected_norm = 0;        // 2-norms of the difference, and of what is expected
  double largest = 0, expected_largest = 0;  // absolute values

  double relative() const { return norm > 0 ? norm / expected_norm : 0; }
  // Whether both results are those of one computation, rounded: the norm is within `unit`, and each
  // element within four of the largest.
  bool is_rounding(double unit) const { return norm <= unit * expected_norm && largest <= 4 * unit * expected_largest; }
};

// Tensors may be of bytes. Waits for the stream. Numbers that are not finite count as infinitely
// different.
Difference difference_of(const TensorType& type, const void* found, const void* expected, void* scratch,
                         cudaStream_t stream);
size_t difference_scratch_bytes();

}  // namespace troika::cuda
