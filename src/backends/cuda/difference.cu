// Noise, and sums of differences by one thread each, which the host adds up.
#include "backends/cuda/difference.h"

#include <cmath>
#include <vector>

#include "backends/cuda/check.h"
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/philox.cuh"

namespace troika::cuda {

// Next to those of elements.cuh: a declaration in an inner namespace would hide them.
__device__ inline float to_float(uint8_t v) { return v; }

namespace {

constexpr int kMostBlocks = 128;
constexpr int kMostTerms = kMostBlocks * kThreads;

// The findings of a thread on its elements.
struct Term {
  float square, expected_square, largest, expected_largest;
};

template <typename T>
__global__ void noise_kernel(T* to, int64_t n, uint64_t seed, float size) {
  wait_for_kernels_before();
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += int64_t{gridDim.x} * blockDim.x) {
    constexpr float kStep = 1.0f / (1 << 23);
    const uint4 bits = philox(seed, static_cast<uint64_t>(i), 0);
    to[i] = from_float<T>(size * (static_cast<float>(bits.x >> 8) * kStep - 1));
  }
}

template <typename T>
__global__ void whole_numbers_kernel(T* to, int64_t n, uint64_t seed, float offset) {
  wait_for_kernels_before();
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += int64_t{gridDim.x} * blockDim.x)
    to[i] = from_float<T>(static_cast<float>(philox(seed, static_cast<uint64_t>(i), 0).x % 3) - 1 + offset);
}

// Bytes of any bits.
__global__ void noise_bytes_kernel(uint8_t* to, int64_t n, uint64_t seed) {
  wait_for_kernels_before();
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += int64_t{gridDim.x} * blockDim.x)
    to[i] = static_cast<uint8_t>(philox(seed, static_cast<uint64_t>(i), 0).x);
}

template <typename T>
__global__ void difference_kernel(const T* found, const T* expected, int64_t n, Term* terms) {
  wait_for_kernels_before();
  Term term = {0, 0, 0, 0};
  const int64_t first = int64_t{blockIdx.x} * blockDim.x + threadIdx.x, step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = first; i < n; i += step) {
    const float e = to_float(expected[i]), f = to_float(found[i]), d = f == e ? 0 : fabsf(f - e);
    term.square += d * d;
    term.expected_square += e * e;
    term.largest = d <= term.largest ? term.largest : d;  // NaN stays
    term.expected_largest = fmaxf(term.expected_largest, fabsf(e));
  }
  terms[first] = term;
}

}  // namespace

void fill_with_noise(const TensorType& type, void* to, uint64_t seed, cudaStream_t stream, float size) {
  const int64_t n = type.shape.elements();
  if (type.dtype == DType::u8) {
    noise_bytes_kernel<<<blocks_for(n), kThreads, 0, stream>>>(static_cast<uint8_t*>(to), n, seed);
    return;
  }
  with_type(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    noise_kernel<T><<<blocks_for(n), kThreads, 0, stream>>>(static_cast<T*>(to), n, seed, size);
  });
}

void fill_with_whole_numbers(const TensorType& type, void* to, uint64_t seed, cudaStream_t stream, float offset) {
  const int64_t n = type.shape.elements();
  with_type(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    whole_numbers_kernel<T><<<blocks_for(n), kThreads, 0, stream>>>(static_cast<T*>(to), n, seed, offset);
  });
}

size_t difference_scratch_bytes() { return kMostTerms * sizeof(Term); }

Difference difference_of(const TensorType& type, const void* found, const void* expected, void* scratch,
                         cudaStream_t stream) {
  const int64_t n = type.shape.elements();
  const unsigned blocks = blocks_for(n, kThreads, kMostBlocks);
  const auto launch = [&](auto zero) {
    using T = decltype(zero);
    difference_kernel<T><<<blocks, kThreads, 0, stream>>>(static_cast<const T*>(found), static_cast<const T*>(expected),
                                                          n, static_cast<Term*>(scratch));
  };
  if (type.dtype == DType::u8)
    launch(uint8_t{});
  else
    with_type(type.dtype, launch);
  check_launch(cudaGetLastError());
  std::vector<Term> terms(size_t{blocks} * kThreads);
  check_launch(cudaMemcpyAsync(terms.data(), scratch, terms.size() * sizeof(Term), cudaMemcpyDeviceToHost, stream));
  check_launch(cudaStreamSynchronize(stream));
  Difference total;
  for (const Term& term : terms) {
    total.norm += term.square;
    total.expected_norm += term.expected_square;
    if (!(term.largest <= total.largest)) total.largest = term.largest;
    total.expected_largest = std::max<double>(total.expected_largest, term.expected_largest);
  }
  if (!std::isfinite(total.norm) || !std::isfinite(total.largest))
    total.norm = total.largest = std::numeric_limits<double>::infinity();
  total.norm = std::sqrt(total.norm);
  total.expected_norm = std::sqrt(total.expected_norm);
  return total;
}

}  // namespace troika::cuda
