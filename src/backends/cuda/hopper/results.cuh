// Results of products in bf16 on their way to memory, and sums of them on the same way. A warpgroup
// has results [64 channels, columns] in registers, and stores them as rows of 64 channels.
#pragma once

#include "backends/cuda/hopper/conv2d.h"
#include "backends/cuda/hopper/instructions.cuh"

namespace troika::cuda::hopper {

// The first of a thread's two channels. The second is 8 more.
__device__ inline int own_channel() { return threadIdx.x % kGroup / 32 * 16 + threadIdx.x % 32 / 4; }

// This lane's row of the four matrices that it stores at once: 16 bytes of one of 16 rows, at the
// place of this chunk of the row.
__device__ inline int own_row() { return threadIdx.x % 32 / 16 * 8 + threadIdx.x % 8; }
__device__ inline int own_chunk() { return threadIdx.x % kGroup / 32 * 2 + threadIdx.x / 8 % 2; }

// Its address, if the rows are from `rows` on.
__device__ inline uint32_t matrix_row(uint32_t rows) {
  return rows + own_row() * kRowBytes + (own_chunk() ^ own_row() % 8) * 16;
}

// Work on results that are stored.
enum class Rider {
  none,
  moments,     // sums of y and of its squares
  relu_sums,   // the gradient of a ReLU after batch_norm2d, and the sums of batch_norm2d's gradient
  masked_sums  // the same with a mask, after another gradient has been added
};

__host__ __device__ constexpr bool needs_x(Rider rider) {
  return rider == Rider::relu_sums || rider == Rider::masked_sums;
}

// batch_norm2d of a thread's two channels: relu((x - mean) * scale + bias).
struct ReluOf {
  float mean[2] = {}, scale[2] = {}, bias[2] = {};

  // With a mask, only the mean is needed.
  template <Rider kRider>
  __device__ void load(const NormalizedRelu& from, int first_channel) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const int channel = first_channel + own_channel() + 8 * c;
      mean[c] = from.mean[channel];
      if (kRider == Rider::masked_sums) continue;
      scale[c] = from.weight[channel] * from.inv_std[channel];
      bias[c] = from.bias[channel];
    }
  }
  // NaN lets a gradient pass, as a ReLU does.
  __device__ bool cuts(int c, float difference) const { return fmaf(difference, scale[c], bias[c]) <= 0; }
};

__device__ inline float low_of(uint32_t pair) { return __uint_as_float(pair << 16); }
__device__ inline float high_of(uint32_t pair) { return __uint_as_float(pair & 0xffff0000u); }

// Bits of a mask for kColumns columns and the 16 channels of this warp. The lanes 4 e to 4 e + 3
// hold the bits of eight columns, two each. Other lanes get them when they need them. The bits of
// the two columns are joined late, so that nothing waits for them before. Joined at once, they save
// a register.
template <int kColumns, bool kJoinsLate = true>
class Mask {
 public:
  // `place_of(column)` returns the first of the 64 channels in bytes from `mask` on; below 0: there
  // is no such column, and its bits are 0.
  template <typename PlaceOf>
  __device__ void load(const void* mask, PlaceOf place_of) {
    const int lane = threadIdx.x % 32, w = threadIdx.x % kGroup / 32;
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      const int eight = i * 8 + lane / 4;
      uint32_t bits[2];
#pragma unroll
      for (int column = 0; column < 2; ++column) {
        const int place = eight < kEights ? place_of(eight * 8 + lane % 4 * 2 + column) : -1;
        bits[column] = place < 0 ? 0 : __ldg(static_cast<const uint16_t*>(mask) + place / 2 + w);
      }
      words_[i][0] = kJoinsLate ? bits[0] : joined(bits);
      if (kJoinsLate) words_[i][1] = bits[1];
    }
  }

  // Bits for this thread's columns of eight: bits 0 and 8 for the two channels of the first, 16 and
  // 24 for those of the second.
  __device__ uint32_t of(int eight) const {
    const int lane = threadIdx.x % 32;
    const uint32_t word = kJoinsLate ? joined(words_[eight / 8]) : words_[eight / 8][0];
    return __shfl_sync(0xffffffffu, word, eight % 8 * 4 + lane % 4) >> lane / 4;
  }

 private:
  static constexpr int kEights = kColumns / 8, kWords = (kEights + 7) / 8;
  static __device__ uint32_t joined(const uint32_t (&bits)[2]) { return bits[0] | bits[1] << 16; }
  uint32_t words_[kWords][2] = {};  // the second is used if `kJoinsLate`
};

// Sets a thread's results to 0 for columns of the tile T that do not exist.
template <typename T>
__device__ inline void clear_absent(float (&d)[T::kColumns / 2]) {
  const int own_lane = threadIdx.x % 4;
#pragma unroll
  for (int i = 0; i < T::kColumns / 4; ++i) {
    const int column = i / 2 * 8 + i % 2;  // of lanes that are multiples of 4; others have up to 6 more
#pragma unroll
    for (int lane = 0; lane < 4; ++lane)
      if (!T::has_column(column + 2 * lane) && own_lane == lane) d[i / 2 * 4 + i % 2] = d[i / 2 * 4 + i % 2 + 2] = 0;
  }
}

// kColumns results of each of the thread's channels, from d[0] on, as pairs of neighbours in bf16.
struct Results {
  const float* d;

  __device__ uint32_t pair(int i) const { return pack_bf16(d[2 * i], d[2 * i + 1]); }
};

// The same after columns have been added that are stored like results. They are not added to d: the
// compiler would make products wait for each other.
template <int kColumns>
struct AddedResults {
  uint32_t pairs[kColumns / 4];

  // `row` is the matrix_row() of the place of the columns.
  __device__ void add(const float* d, uint32_t row) {
    add(d, [=](int column) { return row + column * kRowBytes; });
  }
  // `row_of(column)` returns this lane's row of the four matrices from a column on.
  template <typename RowOf>
  __device__ void add(const float* d, RowOf row_of) {
    for_each_pair(row_of, [&](int i, uint32_t v) { pairs[i] = sum(d, i, v); });
  }
  // The same in two steps: the place of the columns is free after the first.
  __device__ void load(uint32_t row) {
    for_each_pair([=](int column) { return row + column * kRowBytes; }, [&](int i, uint32_t v) { pairs[i] = v; });
  }
  __device__ void add(const float* d) {
#pragma unroll
    for (int i = 0; i < kColumns / 4; ++i) pairs[i] = sum(d, i, pairs[i]);
  }
  __device__ uint32_t pair(int i) const { return pairs[i]; }

 private:
  static __device__ uint32_t sum(const float* d, int i, uint32_t pair) {
    return pack_bf16(d[2 * i] + low_of(pair), d[2 * i + 1] + high_of(pair));
  }
  template <typename RowOf, typename Take>
  static __device__ void for_each_pair(RowOf row_of, Take take) {
    constexpr int kEights = kColumns / 8;
#pragma unroll
    for (int j = 0; j < kEights; j += 2) {
      uint32_t v[4];
      load_matrices<true>(v, row_of(j * 8));
#pragma unroll
      for (int i = 2 * j; i < 2 * j + (j + 1 < kEights ? 4 : 2); ++i) take(i, v[i - 2 * j]);
    }
  }
};

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

// Stores rounded results, kColumns of each of the thread's channels. `row` is the matrix_row() of
// the place. With a rider that needs x the place has x, whose batch_norm2d is cut by `relu` or by
// `mask`: results that the ReLU cuts become 0. Adds the stored numbers to `sums`, and their
// products with themselves or with x - mean: first those of this call, because a long sum of
// squares in f32 is rounded in one direction.
template <int kColumns, Rider kRider, typename R, typename M>
__device__ inline void store_results(const R& results, uint32_t row, const ReluOf& relu, const M& mask, Sums& sums) {
  constexpr int kEights = kColumns / 8;
  Sums own;
  uint32_t x[2][4];  // of these columns and the next
  if constexpr (needs_x(kRider)) load_matrices<true>(x[0], row);
#pragma unroll
  for (int j = 0; j < kEights; j += 2) {
    const int pairs = j + 1 < kEights ? 4 : 2;
    if constexpr (needs_x(kRider))
      if (j + 2 < kEights) load_matrices<true>(x[(j / 2 + 1) % 2], row + (j + 2) * 8 * kRowBytes);
    uint32_t v[4], bits = 0;
#pragma unroll
    for (int i = 0; i < pairs; ++i) {
      const int c = i % 2;
      if (kRider == Rider::masked_sums && c == 0) bits = mask.of(j + i / 2);
      v[i] = results.pair(j * 2 + i);
      if constexpr (kRider == Rider::moments) own.add(c, low_of(v[i]), high_of(v[i]), low_of(v[i]), high_of(v[i]));
      if constexpr (needs_x(kRider)) {
        const float low = low_of(x[j / 2 % 2][i]) - relu.mean[c], high = high_of(x[j / 2 % 2][i]) - relu.mean[c];
        const bool is_masked = kRider == Rider::masked_sums;
        if (is_masked ? !(bits >> 8 * c & 1) : relu.cuts(c, low)) v[i] &= 0xffff0000u;
        if (is_masked ? !(bits >> (16 + 8 * c) & 1) : relu.cuts(c, high)) v[i] &= 0xffffu;
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

// One or two warpgroups, whose threads have numbers `g` of 0 and 1, have summed `count` columns of
// the same 64 channels. Writes a part of a row of sums: 64 numbers to `to`, and 64 more `channels`
// numbers further on. With Rider::moments they are means and sums of squared differences from the
// means; with a rider that needs x sums and sums of products. `shared` has room for 128 numbers per
// group; `barrier` is a number of a barrier of threads.
template <Rider kRider, int kGroups = 2>
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
  sync_threads(barrier, kGroups * kGroup);
  const int channel = threadIdx.x % kGroup;
  if (g != 0 || channel >= 64) return;
  float sum = shared[channel], product = shared[64 + channel];
  if (kGroups == 2) {
    sum += shared[128 + channel];
    product += shared[192 + channel];
  }
  if (needs_x(kRider)) {
    to[channel] = sum;
    to[channels + channel] = product;
    return;
  }
  const double mean = static_cast<double>(sum) / count, difference = product - sum * mean;
  to[channel] = static_cast<float>(mean);
  to[channels + channel] = difference < 0 ? 0 : static_cast<float>(difference);  // NaN stays
}

}  // namespace troika::cuda::hopper
