// Results of products in bf16 on their way to memory, and sums of them on the same way. A warpgroup
// has results [64 channels, columns] in registers, and stores them as rows of 64 channels.
#pragma once

#include "backends/cuda/hopper/conv2d.h"
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

// Work on results that are stored.
enum class Rider {
  none,
  moments,   // sums of y and of its squares
  relu_sums  // the gradient of a ReLU after batch_norm2d, and the sums of batch_norm2d's gradient
};

// batch_norm2d of a thread's two channels: relu((x - mean) * scale + bias).
struct ReluOf {
  float mean[2] = {}, scale[2] = {}, bias[2] = {};

  __device__ void load(const NormalizedRelu& from, int first_channel) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const int channel = first_channel + own_channel() + 8 * c;
      mean[c] = from.mean[channel];
      scale[c] = from.weight[channel] * from.inv_std[channel];
      bias[c] = from.bias[channel];
    }
  }
  // NaN lets a gradient pass, as a ReLU does.
  __device__ bool cuts(int c, float difference) const { return fmaf(difference, scale[c], bias[c]) <= 0; }
};

__device__ inline float low_of(uint32_t pair) { return __uint_as_float(pair << 16); }
__device__ inline float high_of(uint32_t pair) { return __uint_as_float(pair & 0xffff0000u); }

// Sums over columns of a thread's two channels.
struct Sums {
  float values[2] = {0, 0}, products[2] = {0, 0};

  // Two neighbours of channel `c`, and their factors.
  __device__ void add(int c, float low, float high, float low_factor, float high_factor) {
    values[c] += low;
    values[c] += high;
    products[c] = fmaf(high, high_factor, fmaf(low, low_factor, products[c]));
  }
  __device__ void add(const Sums& other) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      values[c] += other.values[c];
      products[c] += other.products[c];
    }
  }
};

// Rounds kColumns results of each of the thread's channels, from d[0] on, and stores them. `row` is
// the matrix_row() of the place. With Rider::relu_sums the place has x, whose batch_norm2d is cut
// by `relu`: results that the ReLU cuts become 0. Adds the stored numbers to `sums`, and their
// products with themselves or with x - mean: first those of this call, because a long sum of
// squares in f32 is rounded in one direction.
template <int kColumns, Rider kRider>
__device__ inline void store_results(const float* d, uint32_t row, const ReluOf& relu, Sums& sums) {
  constexpr int kEights = kColumns / 8;
  Sums own;
  uint32_t x[2][4];  // of these columns and the next
  if constexpr (kRider == Rider::relu_sums) load_matrices<true>(x[0], row);
#pragma unroll
  for (int j = 0; j < kEights; j += 2) {
    const int pairs = j + 1 < kEights ? 4 : 2;
    if constexpr (kRider == Rider::relu_sums)
      if (j + 2 < kEights) load_matrices<true>(x[(j / 2 + 1) % 2], row + (j + 2) * 8 * kRowBytes);
    uint32_t v[4];
#pragma unroll
    for (int i = 0; i < pairs; ++i) {
      const int c = i % 2;
      v[i] = pack_bf16(d[j * 4 + 2 * i], d[j * 4 + 2 * i + 1]);
      if constexpr (kRider == Rider::moments) own.add(c, low_of(v[i]), high_of(v[i]), low_of(v[i]), high_of(v[i]));
      if constexpr (kRider == Rider::relu_sums) {
        const float low = low_of(x[j / 2 % 2][i]) - relu.mean[c], high = high_of(x[j / 2 % 2][i]) - relu.mean[c];
        if (relu.cuts(c, low)) v[i] &= 0xffff0000u;
        if (relu.cuts(c, high)) v[i] &= 0xffffu;
        own.add(c, low_of(v[i]), high_of(v[i]), low, high);
      }
    }
    if (pairs == 4)
      store_matrices(row + j * 8 * kRowBytes, v[0], v[1], v[2], v[3]);
    else
      store_matrices(row + j * 8 * kRowBytes, v[0], v[1]);
  }
  if constexpr (kRider != Rider::none) sums.add(own);
}

// Two warpgroups, whose threads have numbers `g` of 0 and 1, have summed `count` columns of the
// same 64 channels. Writes a part of a row of sums: 64 numbers to `to`, and 64 more `channels`
// numbers further on. With Rider::moments they are means and sums of squared differences from the
// means; with Rider::relu_sums sums and sums of products. `shared` has room for 256 numbers;
// `barrier` is a number of a barrier of threads.
template <Rider kRider>
__device__ inline void write_sums(Sums sums, int g, float* shared, int barrier, float count, float* to, int channels) {
#pragma unroll
  for (int distance = 1; distance < 4; distance *= 2)  // four lanes have the same channels
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      sums.values[c] += __shfl_xor_sync(0xffffffffu, sums.values[c], distance);
      sums.products[c] += __shfl_xor_sync(0xffffffffu, sums.products[c], distance);
    }
  if (threadIdx.x % 4 == 0)
    for (int c = 0; c < 2; ++c) {
      shared[g * 128 + own_channel() + 8 * c] = sums.values[c];
      shared[g * 128 + 64 + own_channel() + 8 * c] = sums.products[c];
    }
  sync_threads(barrier, 2 * kGroup);
  const int channel = threadIdx.x % kGroup;
  if (g != 0 || channel >= 64) return;
  const float sum = shared[channel] + shared[128 + channel], product = shared[64 + channel] + shared[192 + channel];
  if (kRider == Rider::relu_sums) {
    to[channel] = sum;
    to[channels + channel] = product;
    return;
  }
  const double mean = static_cast<double>(sum) / count, difference = product - sum * mean;
  to[channel] = static_cast<float>(mean);
  to[channels + channel] = difference < 0 ? 0 : static_cast<float>(difference);  // NaN stays
}

}  // namespace troika::cuda::hopper
