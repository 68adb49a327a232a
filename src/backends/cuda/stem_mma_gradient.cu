// The weights' gradient of a conv2d of an image of one channel on tensor cores: dweights [channels,
// taps] = the transpose of dy [pixels, channels] times windows [pixels, taps]. The bias's gradient
// is one more tap, which reads 1 everywhere.
//
// A warp takes 16 pixels at a time. A product wants pairs of neighbouring pixels of dy, but memory
// has neighbouring channels. So a lane loads a few channels of two neighbouring pixels and of two
// more, in wide words, and swaps halves of words. Its channels become rows l / 4 and 8 more of
// several products. dy is loaded a tile ahead; x has 1 / channels of its bytes. In TF32 a lane's
// pixels are the depth of two products, and nothing is swapped. There the bias's gradient is summed
// from dy as it is: only factors of products may be rounded.
//
// If dy is pooled, pixels are numbered window by window. A lane then loads the gradient and the
// mask of two windows, and makes two pixels of each.
//
// The sums of warps are added in their order, and those of blocks by a second launch.
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/epilogue.h"
#include "backends/cuda/matrix_instructions.cuh"
#include "backends/cuda/stem_mma.h"
#include "backends/cuda/stem_windows.cuh"

namespace troika::cuda {
namespace {

// Loads numbers of neighbouring channels, of which `left` exist: 16 bits of a pixel, or masks of a
// window. Others are zeros. A word has two, or four. Unless `is_wide`, channels are `apart`
// elements from each other.
template <int kWords, typename Unit>
__device__ inline void load_channels(uint32_t (&v)[kWords], const Unit* from, int left, bool is_wide, int apart = 1) {
  constexpr int kUnits = sizeof(uint32_t) / sizeof(Unit);  // of a word
  struct alignas(4 * kWords) Words {
    uint32_t v[kWords];
  };
  Words words = {};
  if (is_wide) {
    if (left > 0) words = *reinterpret_cast<const Words*>(from);
  } else {
#pragma unroll
    for (int i = 0; i < kUnits * kWords; ++i)
      if (i < left) words.v[i / kUnits] |= uint32_t{from[i * apart]} << i % kUnits * 8 * sizeof(Unit);
  }
#pragma unroll
  for (int i = 0; i < kWords; ++i) v[i] = words.v[i];
}

template <int kWords>
__device__ inline void load_channels(uint32_t (&v)[kWords], const uint32_t* from, int left, bool is_wide,
                                     int apart = 1) {
#pragma unroll
  for (int i = 0; i < kWords; i += 4) {
    uint4 words = {0, 0, 0, 0};
    if (is_wide) {
      if (i < left) words = *reinterpret_cast<const uint4*>(from + i);
    } else {
      const auto one = [&](int j) { return j < left ? from[j * apart] : 0; };
      words = {one(i), one(i + 1), one(i + 2), one(i + 3)};
    }
    v[i] = words.x, v[i + 1] = words.y, v[i + 2] = words.z, v[i + 3] = words.w;
  }
}

// The gradient of a pixel of a window, of which this is a word, with the masks of its channels.
template <typename T>
__device__ inline uint32_t pixel_word(uint32_t word, const uint32_t (&masks)[2], int pixel, FusedPool kind) {
  if constexpr (kIsTf32<T>) {
    return __float_as_uint(pixel_gradient(__uint_as_float(word), masks[0], pixel, kind));
  } else {
    const float2 pair = unpack<T>(word);
    return pack<T>(pixel_gradient(pair.x, masks[0], pixel, kind), pixel_gradient(pair.y, masks[1], pixel, kind));
  }
}

__device__ inline uint32_t low_halves(uint32_t a, uint32_t b) { return (a & 0xffffu) | b << 16; }
__device__ inline uint32_t high_halves(uint32_t a, uint32_t b) { return a >> 16 | (b & 0xffff0000u); }

// partials [blocks, numbers] are those of the blocks' pixels: dweights [k, taps] and, if
// `has_bias`, dbias [k]. Grid: parts of the pixels, 16 kRows channels, 8 kColumns taps.
template <typename T, int kRows, int kColumns, bool kIsPooled>
__global__ void __launch_bounds__(kThreads, kRows* kColumns <= (kIsTf32<T> ? 4 : 8) ? 2 : 1)
    stem_mma_gradient_kernel(const Bits<T>* x, const Bits<T>* dy, Pooling pooling, float* partials, int64_t numbers,
                             bool has_bias, unsigned pixels_of_block, StemWindows s) {
  wait_for_kernels_before();
  constexpr int kChannels = 16 * kRows, kTaps = 8 * kColumns, kPixels = 4;  // kPixels: that a lane has of a tile
  constexpr int kLoads = kIsPooled ? kPixels / 2 : kPixels;                 // of pixels, or of windows
  constexpr int kWords = kIsTf32<T> ? 2 * kRows : kRows;                    // of a pixel
  __shared__ float sums[kChannels][kTaps];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int own_row = lane / 4, own_column = lane % 4;
  const int first_channel = static_cast<int>(blockIdx.y) * kChannels, channel = first_channel + own_row * 2 * kRows;
  const int first_tap = static_cast<int>(blockIdx.z) * kTaps;
  Tap taps[kColumns];
  uint32_t outside[kColumns];  // what the tap reads outside of the image
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    const int tap = first_tap + c * 8 + own_row;
    const T one = from_float<T>(1);
    taps[c] = s.tap(tap);
    outside[c] = tap == s.taps ? reinterpret_cast<const Bits<T>&>(one) : 0;
  }

  const unsigned begin = blockIdx.x * pixels_of_block, end = min(begin + pixels_of_block, s.pixels);
  const bool is_wide = s.k % (2 * kRows) == 0;  // words of all channels of a thread fit each pixel
  // Of a tile a lane has the pixels 2 (l % 4), 1, 8 and 9 more.
  const auto pixel_of = [&](unsigned first, int i) {
    return first + static_cast<unsigned>(own_column * 2 + i % 2 + i / 2 * 8);
  };
  uint32_t next[kLoads][kWords], masks[kLoads][kRows / 2];  // masks: of the next windows
  const auto load = [&](unsigned first) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const unsigned pixel = pixel_of(first, kPixels / kLoads * i);
      const int number = static_cast<int>(kIsPooled ? pixel / kWindowPixels : pixel);
      const int64_t place = int64_t{number} * s.k + channel;
      const int left = pixel < end ? s.k - channel : 0;
      if constexpr (kIsPooled) {
        const PooledPlaces places = s.places(number, pooling.is_plain);
        load_channels(next[i], dy + places.of_channel(channel), left, is_wide && !pooling.is_plain, places.apart);
        load_channels(masks[i], pooling.mask + place, left, is_wide);
      } else {
        load_channels(next[i], dy + place, left, is_wide);
      }
    }
  };
  const auto word_of = [&](int pixel, int i) {  // of a lane's pixel
    const uint32_t word = next[kLoads * pixel / kPixels][i];
    if constexpr (!kIsPooled) {
      return word;
    } else {
      constexpr int kChannelsOfWord = kIsTf32<T> ? 1 : 2;
      const auto mask = [&](int c) { return masks[kLoads * pixel / kPixels][c / 4] >> c % 4 * 8; };
      const int c = kChannelsOfWord * i;
      return pixel_word<T>(word, {mask(c), mask(c + kChannelsOfWord - 1)}, own_column % 2 * 2 + pixel % 2,
                           pooling.kind);
    }
  };
  float d[kRows][kColumns][4] = {}, bias[2 * kRows] = {};  // bias: TF32, of the lane's channels
  unsigned first = begin + static_cast<unsigned>(warp) * kTilePixels;
  load(first);
  for (; first < end; first += kWarps * kTilePixels) {
    constexpr int kProducts = kIsTf32<T> ? 2 : 1;  // of two pixels of the lane each, or of all four
    uint32_t a[kProducts][kRows][4];
#pragma unroll
    for (int r = 0; r < kRows; ++r)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if constexpr (kIsTf32<T>) {
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            const uint32_t number = word_of(2 * i + j / 2, 2 * r + j % 2);
            a[i][r][j] = round_to_tf32(number);
            bias[2 * r + j % 2] += __uint_as_float(number);
          }
        } else {
          const uint32_t words[2] = {word_of(2 * i, r), word_of(2 * i + 1, r)};
          a[0][r][2 * i] = low_halves(words[0], words[1]);
          a[0][r][2 * i + 1] = high_halves(words[0], words[1]);
        }
      }
    load(first + kWarps * kTilePixels);
    StemWindows::Window windows[kPixels];
#pragma unroll
    for (int i = 0; i < kPixels; ++i) windows[i] = s.window<kIsPooled>(pixel_of(first, i), end);
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      uint32_t b[kProducts][2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const uint32_t pair[2] = {s.value(x, windows[2 * i], taps[c], outside[c]),
                                  s.value(x, windows[2 * i + 1], taps[c], outside[c])};
        if constexpr (kIsTf32<T>)
          b[i][0] = pair[0], b[i][1] = pair[1];
        else
          b[0][i] = pair[0] | pair[1] << 16;
      }
#pragma unroll
      for (int i = 0; i < kProducts; ++i)
#pragma unroll
        for (int r = 0; r < kRows; ++r) multiply<T>(d[r][c], a[i][r], b[i]);
    }
  }

  if constexpr (kIsTf32<T>) {
#pragma unroll
    for (int i = 0; i < 2 * kRows; ++i) {
#pragma unroll
      for (int distance = 1; distance < 4; distance *= 2)  // four lanes have the same channels
        bias[i] += __shfl_xor_sync(0xffffffffu, bias[i], distance);
#pragma unroll
      for (int c = 0; c < kColumns; ++c)
#pragma unroll
        for (int column = 0; column < 2; ++column)
          if (first_tap + c * 8 + own_column * 2 + column == s.taps) d[i / 2][c][i % 2 * 2 + column] = bias[i];
    }
  }

  // Row l / 4 of product r is channel 2 r of the lane, and the row 8 further on the channel after.
  for (int w = 0; w < kWarps; ++w) {
    if (w == warp) {
#pragma unroll
      for (int r = 0; r < kRows; ++r)
#pragma unroll
        for (int c = 0; c < kColumns; ++c)
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            float& sum = sums[own_row * 2 * kRows + 2 * r + i / 2][c * 8 + own_column * 2 + i % 2];
            sum = w == 0 ? d[r][c][i] : sum + d[r][c][i];
          }
    }
    __syncthreads();
  }
  float* const to = partials + blockIdx.x * numbers;
  for (int i = static_cast<int>(threadIdx.x); i < kChannels * kTaps; i += kThreads) {
    const int to_channel = first_channel + i / kTaps, tap = first_tap + i % kTaps;
    if (to_channel >= s.k) break;
    if (tap < s.taps) to[to_channel * s.taps + tap] = sums[i / kTaps][i % kTaps];
    if (tap == s.taps && has_bias) to[s.k * s.taps + to_channel] = sums[i / kTaps][i % kTaps];
  }
}

// Calls run.operator()<rows, columns>() with the products of a block.
template <typename Run>
void with_products(int64_t channels, int64_t taps, Run&& run) {
  if (channels > 32)
    taps > 16 ? run.template operator()<4, 4>() : run.template operator()<4, 2>();
  else
    taps > 16 ? run.template operator()<2, 4>() : run.template operator()<2, 2>();
}

// Numbers that a block of pixels has: dweights, and then dbias.
int64_t numbers_of(const Convolution& v, bool bias) { return v.weight_elements() + (bias ? v.k : 0); }

template <typename T>
void launch(const Convolution& v, const void* x, const void* dy, const Pooling& pooling, float* partials, bool bias,
            const StemShares& shares, cudaStream_t stream) {
  const int64_t taps = v.taps() + (bias ? 1 : 0);
  with_products(v.k, taps, [&]<int kRows, int kColumns>() {
    const auto parts = [](int64_t n, int64_t part) { return static_cast<unsigned>((n + part - 1) / part); };
    const dim3 grid(shares.blocks, parts(v.k, 16 * kRows), parts(taps, 8 * kColumns));
    const auto run = [&](auto kernel) {
      kernel<<<grid, kThreads, 0, stream>>>(static_cast<const Bits<T>*>(x), static_cast<const Bits<T>*>(dy), pooling,
                                            partials, numbers_of(v, bias), bias, shares.pixels,
                                            StemWindows(v, bool{pooling}));
    };
    pooling ? run(stem_mma_gradient_kernel<T, kRows, kColumns, true>)
            : run(stem_mma_gradient_kernel<T, kRows, kColumns, false>);
  });
}

}  // namespace

void stem_mma_weight_gradient(DType dtype, const Convolution& v, const void* x, const void* dy, const Pooling& pooling,
                              float* dweights, float* dbias, void* scratch, int multiprocessors, cudaStream_t stream) {
  const StemShares shares(v, multiprocessors);
  auto* const partials = static_cast<float*>(scratch);
  with_type(dtype, [&](auto zero) { launch<decltype(zero)>(v, x, dy, pooling, partials, dbias, shares, stream); });
  sum_partials(partials, shares.blocks, dweights, v.weight_elements(), dbias, dbias ? v.k : 0, stream);
}

size_t stem_mma_weight_gradient_scratch_bytes(const Convolution& v, bool bias, int multiprocessors) {
  return StemShares(v, multiprocessors).blocks * static_cast<size_t>(numbers_of(v, bias)) * sizeof(float);
}

}  // namespace troika::cuda
