// conv2d of an image of one channel on tensor cores: y [pixels, channels] = windows [pixels, taps]
// times weights [taps, channels].
//
// A warp takes 16 pixels at a time. Taps are cut into slices of 16, the last one filled with zeros,
// and the weights of 32 or 64 channels stay in registers. Each thread gathers its part of the
// windows straight from memory: x has 1 / channels of y's bytes and is in the nearest cache. In
// TF32 a slice is two products of 8 taps, which may be any as long as the weights' are the same.
//
// Lane l of a product has columns 2 (l % 4) and 1 more. Four products share 32 channels in such a
// way that the lane has the 8 channels from 8 (l % 4) on, which are 16 bytes. So four lanes write
// 64 neighbouring bytes at once.
//
// If y is to be pooled, pixels are numbered window by window. The four pixels of a window are rows
// of one product, whose lanes are 4 apart. They swap numbers, so that each gets two of the 8
// channels of all four pixels.
//
// Moments: a thread sums differences from the first value of its warp, and their squares. These are
// small, however large the mean is. Warps are then merged in f64 (Chan, Golub and LeVeque 1979).
#include "backends/cuda/stem_mma.h"

#include "backends/cuda/early_start.cuh"
#include "backends/cuda/matrix_instructions.cuh"
#include "backends/cuda/stem_conv2d.h"
#include "backends/cuda/stem_windows.cuh"

namespace troika::cuda {
namespace {

constexpr int kDepth = 16;  // taps of a slice
constexpr int kGroup = 32;  // channels of four products
constexpr int kMostTf32Slices = 4;
constexpr int kOwn = 8;  // channels of a group that a thread has
template <typename T>
constexpr int kWords = kIsTf32<T> ? 2 : 1;  // of two factors

// Stores 8 channels of a pixel, of which `left` exist.
__device__ inline void store_channels(uint16_t* to, int left, int k, const uint32_t (&v)[4]) {
  if (k % 4 == 0) {
#pragma unroll
    for (int i = 0; i < 2; ++i)
      if (4 * i < left) *reinterpret_cast<uint2*>(to + 4 * i) = {v[2 * i], v[2 * i + 1]};
  } else if (k % 2 == 0) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (2 * i < left) *reinterpret_cast<uint32_t*>(to + 2 * i) = v[i];
  } else {
#pragma unroll
    for (int i = 0; i < 8; ++i)
      if (i < left) to[i] = static_cast<uint16_t>(v[i / 2] >> i % 2 * 16);
  }
}

__device__ inline void store_channels(uint32_t* to, int left, int k, const uint32_t (&v)[8]) {
  if (k % 4 == 0) {
#pragma unroll
    for (int i = 0; i < 8; i += 4)
      if (i < left) *reinterpret_cast<uint4*>(to + i) = {v[i], v[i + 1], v[i + 2], v[i + 3]};
  } else {
#pragma unroll
    for (int i = 0; i < 8; ++i)
      if (i < left) to[i] = v[i];
  }
}
__device__ inline void store_all_channels(uint16_t* to, const uint32_t (&v)[4]) {
  *reinterpret_cast<uint4*>(to) = {v[0], v[1], v[2], v[3]};
}
__device__ inline void store_all_channels(uint32_t* to, const uint32_t (&v)[8]) { store_channels(to, 8, 4, v); }

// Sums over the pixels of a warp for the channels of a thread.
template <int kGroups>
struct WarpMoments {
  float center[kGroups][kOwn], sums[kGroups][kOwn] = {}, squares[kGroups][kOwn] = {};

  __device__ void add(int group, int i, float value) {
    const float d = value - center[group][i];
    sums[group][i] += d;
    squares[group][i] = fmaf(d, d, squares[group][i]);
  }
};

// Merges the moments of a block's warps, of which this one has `count` pixels. Writes the means
// [channels] to `means_to`, and the sums of squared differences k numbers further on.
template <int kGroups>
__device__ inline void write_moments(WarpMoments<kGroups>& own, int count, int channels, int k, float* means_to) {
  constexpr int kChannels = kGroups * kGroup;
  __shared__ float means[kWarps][kChannels], squares[kWarps][kChannels];
  __shared__ int counts[kWarps];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
  for (int group = 0; group < kGroups; ++group)
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      float sum = own.sums[group][i], square = own.squares[group][i];
#pragma unroll
      for (int distance = 4; distance < 32; distance *= 2) {  // eight lanes have the same channels
        sum += __shfl_xor_sync(0xffffffffu, sum, distance);
        square += __shfl_xor_sync(0xffffffffu, square, distance);
      }
      if (lane >= 4) continue;
      const int channel = group * kGroup + lane * kOwn + i;
      const double offset = count > 0 ? double{sum} / count : 0, difference = square - sum * offset;
      means[warp][channel] = count > 0 ? static_cast<float>(own.center[group][i] + offset) : 0;
      squares[warp][channel] = difference < 0 ? 0 : static_cast<float>(difference);  // NaN stays
    }
  if (lane == 0) counts[warp] = count;
  __syncthreads();
  const int channel = static_cast<int>(threadIdx.x);
  if (channel >= min(kChannels, channels)) return;
  double total = 0, mean = 0, square = 0;
  for (int w = 0; w < kWarps; ++w) {
    total += counts[w];
    mean += counts[w] * double{means[w][channel]};
  }
  mean /= total;
  for (int w = 0; w < kWarps; ++w) {
    const double difference = means[w][channel] - mean;
    square += squares[w][channel] + counts[w] * difference * difference;
  }
  means_to[channel] = static_cast<float>(mean);
  means_to[k + channel] = static_cast<float>(square);
}

// The end of a kernel's work.
enum class Ending { plain, moments, pool };

// Grid: parts of the pixels, kGroups groups of channels.
template <typename T, int kGroups, int kSlices, Ending kEnding>
__global__ void __launch_bounds__(kThreads, kSlices < (kIsTf32<T> ? 2 : 8) ? 2 : 1)
    stem_mma_kernel(const Bits<T>* x, const Bits<T>* weights, const float* bias, bool relu, Bits<T>* y, float* moments,
                    Pooling pooling, unsigned pixels_of_block, StemWindows s) {
  wait_for_kernels_before();
  constexpr bool kMoments = kEnding == Ending::moments, kPools = kEnding == Ending::pool;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int own_row = lane / 4, own_column = lane % 4;
  const int first_channel = static_cast<int>(blockIdx.y) * kGroups * kGroup;

  // A thread has 4 taps of a slice: those of a row of a small kernel, else two neighbours and the
  // two that come 8 later.
  __shared__ Tap shared_taps[kSlices * kDepth];
  Tap own_taps[4] = {};
  if constexpr (kSlices == 1) {
#pragma unroll
    for (int i = 0; i < 4; ++i) own_taps[i] = s.tap(own_column, i);
  } else {
    for (int i = static_cast<int>(threadIdx.x); i < kSlices * kDepth; i += kThreads) shared_taps[i] = s.tap(i);
  }
  const auto place_of = [&](int slice, int i) { return slice * kDepth + own_column * 2 + i % 2 + i / 2 * 8; };
  const auto tap_of = [&](int slice, int i) { return kSlices == 1 ? own_taps[i] : shared_taps[place_of(slice, i)]; };

  // Column c of product p of a group is channel 8 (c / 2) + 2 p + c % 2.
  uint32_t filter[kGroups][4][kSlices][2 * kWords<T>];
  float start[kGroups][kOwn];
#pragma unroll
  for (int group = 0; group < kGroups; ++group) {
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      const int channel = first_channel + group * kGroup + own_row / 2 * kOwn + 2 * p + own_row % 2;
      const auto weight = [&](int slice, int i) -> uint32_t {
        int tap = place_of(slice, i);
        if (kSlices == 1) tap = i < s.kernel[1] ? own_column * s.kernel[1] + i : s.taps;
        return channel < s.k && tap < s.taps ? weights[int64_t{channel} * s.taps + tap] : 0;
      };
#pragma unroll
      for (int slice = 0; slice < kSlices; ++slice)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const uint32_t pair[2] = {weight(slice, 2 * half), weight(slice, 2 * half + 1)};
          if constexpr (kIsTf32<T>) {
            filter[group][p][slice][2 * half] = round_to_tf32(pair[0]);
            filter[group][p][slice][2 * half + 1] = round_to_tf32(pair[1]);
          } else {
            filter[group][p][slice][half] = pair[0] | pair[1] << 16;
          }
        }
    }
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int channel = first_channel + group * kGroup + own_column * kOwn + i;
      start[group][i] = !kMoments && bias && channel < s.k ? bias[channel] : 0;
    }
  }
  if (kSlices > 1) __syncthreads();

  Bits<T>* const own_y = y + first_channel + own_column * kOwn;
  const bool is_wide = s.k % kOwn == 0;  // 16 bytes fit each pixel
  WarpMoments<kGroups> sums;
  int count = 0;
  const unsigned begin = blockIdx.x * pixels_of_block, end = min(begin + pixels_of_block, s.pixels);
  for (unsigned first = begin + static_cast<unsigned>(warp) * kTilePixels; first < end; first += kWarps * kTilePixels) {
    const unsigned pixels[2] = {first + static_cast<unsigned>(own_row), first + static_cast<unsigned>(own_row) + 8};
    const StemWindows::Window windows[2] = {s.window<kPools>(pixels[0], end), s.window<kPools>(pixels[1], end)};
    Bits<T>* const rows[2] = {own_y + int64_t{pixels[0]} * s.k, own_y + int64_t{pixels[1]} * s.k};
    uint32_t a[kSlices][kWords<T>][4];  // TF32: of the first two taps, and of the others
#pragma unroll
    for (int slice = 0; slice < kSlices; ++slice)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const Tap taps[2] = {tap_of(slice, 2 * half), tap_of(slice, 2 * half + 1)};
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          const uint32_t pair[2] = {s.value(x, windows[r], taps[0]), s.value(x, windows[r], taps[1])};
          if constexpr (kIsTf32<T>) {
            a[slice][half][r] = pair[0];
            a[slice][half][2 + r] = pair[1];
          } else {
            a[slice][0][half * 2 + r] = pair[0] | pair[1] << 16;
          }
        }
      }
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      float d[4][4];
#pragma unroll
      for (int p = 0; p < 4; ++p)
#pragma unroll
        for (int i = 0; i < 4; ++i) d[p][i] = start[group][2 * p + i % 2];
#pragma unroll
      for (int slice = 0; slice < kSlices; ++slice)
#pragma unroll
        for (int w = 0; w < kWords<T>; ++w)
#pragma unroll
          for (int p = 0; p < 4; ++p) {
            const uint32_t(&own)[2 * kWords<T>] = filter[group][p][slice];
            multiply<T>(d[p], a[slice][w], {own[2 * w], own[2 * w + 1]});
          }
      const int channel = first_channel + group * kGroup + own_column * kOwn;
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        uint32_t words[4 * kWords<T>];
#pragma unroll
        for (int p = 0; p < 4; ++p) {
          if constexpr (kIsTf32<T>) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
              const float value = d[p][2 * r + i];
              words[2 * p + i] = __float_as_uint(relu && value < 0 ? 0.0f : value);  // no comparison with NaN holds
            }
          } else {
            words[p] = pack<T>(d[p][2 * r], d[p][2 * r + 1]);
            if (!kMoments && relu) words[p] = cut<T>(words[p]);
          }
        }
        if constexpr (kMoments) {
          if (r == 0 && count == 0)
#pragma unroll
            for (int p = 0; p < 4; ++p) {
              const float2 values = unpack<T>(words[p]);
              sums.center[group][2 * p] = __shfl_sync(0xffffffffu, values.x, own_column);
              sums.center[group][2 * p + 1] = __shfl_sync(0xffffffffu, values.y, own_column);
            }
        }
        if constexpr (kPools) {
          const int turn = own_row % kWindowPixels, own = channel + 2 * turn;
          float pooled[2][kWindowPixels];  // of two channels
          if constexpr (kIsTf32<T>) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
#pragma unroll
              for (int p = 0; p < 4; ++p) pooled[i][p] = __uint_as_float(words[2 * p + i]);
              transpose<4>(pooled[i], static_cast<unsigned>(turn));
            }
          } else {
            transpose<4>(words, static_cast<unsigned>(turn));
#pragma unroll
            for (int p = 0; p < 4; ++p) {
              const float2 values = unpack<T>(words[p]);
              pooled[0][p] = values.x, pooled[1][p] = values.y;
            }
          }
          if (pixels[r] >= end || own >= s.k) continue;
          const int window = static_cast<int>(pixels[r] / kWindowPixels);
          store_windows(reinterpret_cast<T*>(y), s.places(window, pooling.is_plain), own, pooling.mask,
                        int64_t{window} * s.k + own, PooledWindow(pooled[0], pooling.kind, relu),
                        PooledWindow(pooled[1], pooling.kind, relu), own + 1 < s.k, s.k % 2 == 0);
          continue;
        }
        if (pixels[r] >= end) continue;
        Bits<T>* const to = rows[r] + group * kGroup;
        if (!is_wide)
          store_channels(to, s.k - channel, s.k, words);
        else if (channel < s.k)
          store_all_channels(to, words);
        if constexpr (kMoments) {
#pragma unroll
          for (int p = 0; p < 4; ++p) {
            const float2 values = unpack<T>(words[p]);
            sums.add(group, 2 * p, values.x);
            sums.add(group, 2 * p + 1, values.y);
          }
        }
      }
    }
    count += static_cast<int>(min(kTilePixels, end - first));
  }
  if constexpr (kMoments) {
    float* const row = moments + int64_t{blockIdx.x} * (2 * s.k + 1);
    if (blockIdx.y == 0 && threadIdx.x == 0) *row = static_cast<float>(end - begin);
    write_moments(sums, count, s.k - first_channel, s.k, row + 1 + first_channel);
  }
}

// Calls run.operator()<groups, slices>(). One slice is for kernels whose rows fit a thread.
template <typename Run>
void with_sizes(const Convolution& v, Run&& run) {
  if (v.kernel[0] <= 4 && v.kernel[1] <= 4)
    v.k > kGroup ? run.template operator()<2, 1>() : run.template operator()<1, 1>();
  else if (v.taps() <= 2 * kDepth)
    run.template operator()<1, 2>();
  else if (v.taps() <= 4 * kDepth)
    run.template operator()<1, 4>();
  else
    run.template operator()<1, 8>();
}

}  // namespace

bool takes_stem_mma(DType dtype, const Convolution& v) {
  constexpr int64_t kMost = int64_t{1} << 30;  // places in x, and in a padded image, have 32 bits
  const int64_t rows = v.x_size[0] + 2 * v.padding[0] + v.kernel[0] * v.dilation[0];
  const int64_t columns = v.x_size[1] + 2 * v.padding[1] + v.kernel[1] * v.dilation[1];
  const bool is_taken =
      dtype == DType::bf16 || dtype == DType::f16 || (dtype == DType::f32 && v.taps() <= kMostTf32Slices * kDepth);
  return is_taken && is_stem(v) && v.x_elements() < kMost && rows * columns < kMost;
}

void stem_mma_conv2d(DType dtype, const Convolution& v, const void* x, const void* weights, const float* bias,
                     bool relu, void* y, float* moments, const Pooling& pooling, int multiprocessors,
                     cudaStream_t stream) {
  const StemShares shares(v, multiprocessors);
  const StemWindows windows(v, bool{pooling});
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    with_sizes(v, [&]<int kGroups, int kSlices>() {
      const dim3 grid(shares.blocks, static_cast<unsigned>((v.k + kGroups * kGroup - 1) / (kGroups * kGroup)));
      const auto run = [&](auto kernel) {
        kernel<<<grid, kThreads, 0, stream>>>(static_cast<const Bits<T>*>(x), static_cast<const Bits<T>*>(weights),
                                              bias, relu, static_cast<Bits<T>*>(y), moments, pooling, shares.pixels,
                                              windows);
      };
      if constexpr (!kIsTf32<T>)
        if (moments) return run(stem_mma_kernel<T, kGroups, kSlices, Ending::moments>);
      if constexpr (!kIsTf32<T> || kSlices <= kMostTf32Slices)
        pooling ? run(stem_mma_kernel<T, kGroups, kSlices, Ending::pool>)
                : run(stem_mma_kernel<T, kGroups, kSlices, Ending::plain>);
    });
  });
}

int stem_mma_rows_of_sums(const Convolution& v, int multiprocessors) {
  return static_cast<int>(StemShares(v, multiprocessors).blocks);
}

}  // namespace troika::cuda
