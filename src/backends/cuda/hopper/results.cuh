// Results of products in bf16 on their way to memory, and sums of them on the same way. A warpgroup
// has results [64 channels, columns] in registers, and stores them as rows of 64 channels.
#pragma once

#include "backends/cuda/hopper/instructions.cuh"

namespace troika::cuda::hopper {

// The first of a thread's two channels. The second is 8 more.
__device__ inline int own_channel() { return threadIdx.x % kGroup / 32 * 16 + threadIdx.x % 32 / 4; }

// The address of this lane's row of the four matrices that it stores at once: 16 rows, from `rows`
// on.
__device__ inline uint32_t matrix_row(uint32_t rows) {
  const int lane = threadIdx.x % 32, w = threadIdx.x % kGroup / 32;
  return rows + (lane / 16 * 8 + lane % 8) * kRowBytes + ((w * 2 + lane / 8 % 2) ^ lane % 8) * 16;
}

// Sums over columns of a thread's two channels.
struct Sums {
  float values[2] = {0, 0}, squares[2] = {0, 0};

  // `pair`: two neighbours of one channel, in bf16.
  __device__ void add(int channel, uint32_t pair) {
    const float low = __uint_as_float(pair << 16), high = __uint_as_float(pair & 0xffff0000u);
    values[channel] += low;
    values[channel] += high;
    squares[channel] = fmaf(high, high, fmaf(low, low, squares[channel]));
  }
  __device__ void add(const Sums& other) {
    for (int c = 0; c < 2; ++c) {
      values[c] += other.values[c];
      squares[c] += other.squares[c];
    }
  }
};

// Rounds kColumns results of each of the thread's channels, from d[0] on, and stores them. `row` is
// the matrix_row() of the place. Adds what it stores to `sums`, if `kSums`: first the columns of this
// call, because a long sum of squares in f32 is rounded in one direction.
template <int kColumns, bool kSums>
__device__ inline void store_results(const float* d, uint32_t row, Sums& sums) {
  constexpr int kEights = kColumns / 8;
  Sums own;
#pragma unroll
  for (int j = 0; j < kEights; j += 2) {
    const int pairs = j + 1 < kEights ? 4 : 2;
    uint32_t v[4];
#pragma unroll
    for (int i = 0; i < pairs; ++i) {
      v[i] = pack_bf16(d[j * 4 + 2 * i], d[j * 4 + 2 * i + 1]);
      if (kSums) own.add(i % 2, v[i]);
    }
    if (pairs == 4)
      store_matrices(row + j * 8 * kRowBytes, v[0], v[1], v[2], v[3]);
    else
      store_matrices(row + j * 8 * kRowBytes, v[0], v[1]);
  }
  if (kSums) sums.add(own);
}

// Two warpgroups, whose threads have numbers `g` of 0 and 1, have summed columns of the same 64
// channels. Writes the moments of all `count` columns: means of the 64 channels, and, `channels`
// numbers further on, sums of squared differences from the means. `shared` has room for 256 numbers;
// `barrier` is a number of a barrier of threads.
__device__ inline void write_moments(Sums sums, int g, float* shared, int barrier, float count, float* means,
                                     int channels) {
#pragma unroll
  for (int distance = 1; distance < 4; distance *= 2)  // four lanes have the same channels
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      sums.values[c] += __shfl_xor_sync(0xffffffffu, sums.values[c], distance);
      sums.squares[c] += __shfl_xor_sync(0xffffffffu, sums.squares[c], distance);
    }
  if (threadIdx.x % 4 == 0)
    for (int c = 0; c < 2; ++c) {
      shared[g * 128 + own_channel() + 8 * c] = sums.values[c];
      shared[g * 128 + 64 + own_channel() + 8 * c] = sums.squares[c];
    }
  sync_threads(barrier, 2 * kGroup);
  const int channel = threadIdx.x % kGroup;
  if (g == 0 && channel < 64) {
    const float sum = shared[channel] + shared[128 + channel], squares = shared[64 + channel] + shared[192 + channel];
    const double mean = static_cast<double>(sum) / count, difference = squares - sum * mean;
    means[channel] = static_cast<float>(mean);
    means[channels + channel] = difference < 0 ? 0 : static_cast<float>(difference);  // NaN stays
  }
}

}  // namespace troika::cuda::hopper
