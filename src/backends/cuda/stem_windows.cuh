// Windows of a convolution of an image of one channel, for kernels that multiply by tensor cores:
// what a tap of a pixel reads, and how pixels are shared among blocks and warps.
#pragma once

#include <type_traits>

#include "backends/cuda/convolution.h"
#include "backends/cuda/divisor.cuh"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/fused_pool.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/matrix_instructions.cuh"

namespace troika::cuda {

constexpr int kWarps = kThreads / 32;
constexpr unsigned kTilePixels = 16;  // that a warp takes at a time

// A row or column that is in no image, whatever is added to it.
constexpr int kNowhere = -(1 << 30);

// Whether factors are rounded to TF32.
template <typename T>
constexpr bool kIsTf32 = std::is_same_v<T, float>;

// An element as its bits.
template <typename T>
using Bits = std::conditional_t<kIsTf32<T>, uint32_t, uint16_t>;

// A place in a window, and its distance in x from the window's first.
struct Tap {
  int row, column;
  unsigned offset;
};

struct StemWindows {
  int x_size[2], kernel[2], stride[2], padding[2], dilation[2];
  int taps, k;
  unsigned pixels;        // of all images
  Divisor rows, columns;  // of pixels, or of windows of 2 x 2 that are pooled

  StemWindows(const Convolution& v, bool is_pooled)
      : taps(static_cast<int>(v.taps())), k(static_cast<int>(v.k)), pixels(static_cast<unsigned>(v.pixels())) {
    const int size = is_pooled ? kFusedPoolSize : 1;
    rows = Divisor(static_cast<int>(v.y_size[0]) / size);
    columns = Divisor(static_cast<int>(v.y_size[1]) / size);
    for (int i = 0; i < 2; ++i) {
      x_size[i] = static_cast<int>(v.x_size[i]);
      kernel[i] = static_cast<int>(v.kernel[i]);
      stride[i] = static_cast<int>(v.stride[i]);
      padding[i] = static_cast<int>(v.padding[i]);
      dilation[i] = static_cast<int>(v.dilation[i]);
    }
  }

  // The window of a pixel. That of a pixel from `end` on is nowhere. If `kIsPooled`, the pixels of
  // a window that is pooled follow each other.
  struct Window {
    int row, column;
    unsigned first;  // the place of its first element in x; wraps if that is outside
  };
  template <bool kIsPooled>
  __device__ Window window(unsigned pixel, unsigned end) const {
    const int at = static_cast<int>(kIsPooled ? pixel / kWindowPixels : pixel);
    const int at_row = columns.divide(at), image = rows.divide(at_row);  // at_row: of all images
    int y_row = at_row - image * rows.by(), y_column = at - at_row * columns.by();
    if (kIsPooled) {
      y_row = y_row * kFusedPoolSize + static_cast<int>(pixel % kWindowPixels) / kFusedPoolSize;
      y_column = y_column * kFusedPoolSize + static_cast<int>(pixel % kFusedPoolSize);
    }
    const int row = y_row * stride[0] - padding[0], column = y_column * stride[1] - padding[1];
    return {pixel < end ? row : kNowhere, column,
            static_cast<unsigned>(image * x_size[0] + row) * static_cast<unsigned>(x_size[1]) +
                static_cast<unsigned>(column)};
  }

  // The places of a window of 2 x 2 pixels in pooled images.
  __device__ PooledPlaces places(int window, bool is_plain) const {
    if (!is_plain) return PooledPlaces::of(window, k);
    const int image = rows.divide(columns.divide(window));
    return PooledPlaces::plain(window, image, rows.by() * columns.by(), k);
  }

  // The tap of a row and column of the kernel, which may have fewer.
  __device__ Tap tap(int row, int column) const {
    const bool has_row = row < kernel[0], has_column = column < kernel[1];
    const int r = row * dilation[0], c = column * dilation[1];
    return {has_row ? r : kNowhere, has_column ? c : kNowhere,
            static_cast<unsigned>(has_row && has_column ? r * x_size[1] + c : 0)};
  }
  __device__ Tap tap(int i) const { return tap(i / kernel[1], i % kernel[1]); }

  // The bits that a tap reads, of 32 bits rounded to TF32, or `outside` of the image.
  template <typename B>
  __device__ uint32_t value(const B* x, const Window& w, const Tap& tap, uint32_t outside = 0) const {
    const bool is_inside = static_cast<unsigned>(w.row + tap.row) < static_cast<unsigned>(x_size[0]) &&
                           static_cast<unsigned>(w.column + tap.column) < static_cast<unsigned>(x_size[1]);
    if (!is_inside) return outside;
    const uint32_t bits = __ldg(x + (w.first + tap.offset));
    return sizeof(B) == 4 ? round_to_tf32(bits) : bits;
  }
};

// How the pixels are shared: a block has neighbouring ones, and its warps take tiles in turn. A
// thread adds up few enough numbers in f32 that rounding does not drift.
struct StemShares {
  unsigned pixels, blocks;  // pixels of a block

  StemShares(const Convolution& v, int multiprocessors) {
    constexpr int64_t kBlocksEach = 2, kMostOfWarp = 256;
    const int64_t tiles = (v.pixels() + kTilePixels - 1) / kTilePixels, wanted = kBlocksEach * multiprocessors;
    const int64_t of_block = std::clamp<int64_t>((tiles + wanted - 1) / wanted, kWarps, kMostOfWarp * kWarps);
    pixels = static_cast<unsigned>(of_block) * kTilePixels;
    blocks = static_cast<unsigned>((tiles + of_block - 1) / of_block);
  }
};

// Two numbers rounded to 16 bits in a word, `low` in the low half.
template <typename T>
__device__ inline uint32_t pack(float low, float high) {
  if constexpr (std::is_same_v<T, __half>) {
    const __half2 pair = __floats2half2_rn(low, high);
    return reinterpret_cast<const uint32_t&>(pair);
  } else {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return reinterpret_cast<const uint32_t&>(pair);
  }
}
template <typename T>
__device__ inline float2 unpack(uint32_t pair) {
  if constexpr (std::is_same_v<T, __half>)
    return __half22float2(reinterpret_cast<const __half2&>(pair));
  else
    return {__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u)};
}
// Both cut at 0; NaN stays.
template <typename T>
__device__ inline uint32_t cut(uint32_t pair) {
  using Two = std::conditional_t<std::is_same_v<T, __half>, __half2, __nv_bfloat162>;
  const uint32_t zeros = 0;
  const Two result = __hmax2_nan(reinterpret_cast<const Two&>(pair), reinterpret_cast<const Two&>(zeros));
  return reinterpret_cast<const uint32_t&>(result);
}

}  // namespace troika::cuda
