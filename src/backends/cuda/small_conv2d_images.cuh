// Small images and weights in shared memory, for small_conv2d*.cu: rows of pixels, whose channels
// are chunks of 16 bytes. Zeros surround an image, and follow the channels.
#pragma once

#include <algorithm>

#include "backends/cuda/convolution.h"
#include "backends/cuda/divisor.cuh"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/fused_pool.cuh"
#include "backends/cuda/matrix_instructions.cuh"

namespace troika::cuda {

constexpr int kSmallThreads = 256, kSmallWarps = kSmallThreads / 32;
constexpr int kChunkBytes = 16;                  // a row of a matrix that ldmatrix loads
constexpr int kTileRows = 16, kTileColumns = 8;  // of the result of one product

// Channels of a chunk.
template <typename T>
constexpr int kChunkChannels = kChunkBytes / static_cast<int>(sizeof(T));

__host__ __device__ constexpr int rounded_up(int n, int to) { return (n + to - 1) / to * to; }
__host__ __device__ constexpr int parts_of(int n, int size) { return (n + size - 1) / size; }

// The chunks from one row to the next, so that loads at once are from different banks of shared
// memory: of a chunk each of eight rows, or of eight numbers of 32 bits each of four rows.
constexpr int chunks_apart(int chunks, bool loads_numbers) {
  return loads_numbers ? parts_of(chunks - 2, 8) * 8 + 2 : chunks | 1;
}

// Rows [rows, columns, channels] in global memory, and their places in shared memory.
struct HeldRows {
  int rows = 0, columns = 0, row_bytes = 0, column_bytes = 0;  // bytes from one to the next in shared memory
  int unit_bytes = 0;                                          // that a copy moves: 16, 8, 4 or 2
  Divisor units, columns_of_row;

  HeldRows() = default;
  HeldRows(int rows, int columns, int channels, int element_bytes, int row_bytes, int column_bytes)
      : rows(rows), columns(columns), row_bytes(row_bytes), column_bytes(column_bytes), columns_of_row(columns) {
    const int bytes = channels * element_bytes;
    unit_bytes = kChunkBytes;
    while (bytes % unit_bytes != 0) unit_bytes /= 2;
    units = Divisor(bytes / unit_bytes);
  }

  // Begins to copy them, or zeros if not `is_there`. Copies of 2 bytes are done at once.
  __device__ void load(uint8_t* to, const void* from, bool is_there) const {
    switch (unit_bytes) {
      case 16: return load_units<16>(to, from, is_there);
      case 8: return load_units<8>(to, from, is_there);
      case 4: return load_units<4>(to, from, is_there);
      default: return load_units<2>(to, from, is_there);
    }
  }

 private:
  template <int kBytes>
  __device__ void load_units(uint8_t* to, const void* from, bool is_there) const {
    const int units_of_pixel = units.by(), count = rows * columns * units_of_pixel;
    const uint32_t address = shared_address(to);
#pragma unroll 2
    for (int i = threadIdx.x; i < count; i += kSmallThreads) {
      const int pixel = units.divide(i), row = columns_of_row.divide(pixel);
      const int place =
          row * row_bytes + (pixel - row * columns) * column_bytes + (i - pixel * units_of_pixel) * kBytes;
      const auto* const source = static_cast<const uint8_t*>(from) + i * kBytes;
      if constexpr (kBytes == 2)
        *reinterpret_cast<uint16_t*>(to + place) = is_there ? *reinterpret_cast<const uint16_t*>(source) : uint16_t{0};
      else
        begin_copy<kBytes>(address + static_cast<uint32_t>(place), source, is_there);
    }
  }
};

// Windows [rows, columns, channels] of 2 x 2 pixels, whose gradient is pooled in global memory. In
// shared memory each pixel has its own.
struct HeldWindows {
  int rows = 0, columns = 0, row_bytes = 0, column_bytes = 0;  // bytes from one pixel to the next in shared memory
  int unit_bytes = 0;                                          // that a thread has at once: 16, 8, 4 or 2
  Divisor units, columns_of_row;

  HeldWindows() = default;
  // size: of the whole image.
  HeldWindows(const int64_t (&size)[2], int channels, int element_bytes, int row_bytes, int column_bytes)
      : rows(static_cast<int>(size[0] / kFusedPoolSize)),
        columns(static_cast<int>(size[1] / kFusedPoolSize)),
        row_bytes(row_bytes),
        column_bytes(column_bytes),
        columns_of_row(columns) {
    const HeldRows pooled(rows, columns, channels, element_bytes, 0, 0);
    unit_bytes = pooled.unit_bytes;
    units = pooled.units;
  }

  // Stores the pixels of image `image`, or zeros if not `is_there`.
  template <typename T>
  __device__ void load(uint8_t* to, const T* dy, const Pooling& pooling, int64_t image, bool is_there) const {
    constexpr int kBytes = static_cast<int>(sizeof(T));
    switch (unit_bytes / kBytes) {
      case 8: return load_units<T, 8>(to, dy, pooling, image, is_there);
      case 4: return load_units<T, 4>(to, dy, pooling, image, is_there);
      case 2: return load_units<T, 2>(to, dy, pooling, image, is_there);
      default: return load_units<T, 1>(to, dy, pooling, image, is_there);
    }
  }

 private:
  // Loads neighbouring channels of a window of an image that is stored plain.
  template <typename T, int kElements>
  __device__ void gather(Pack<T, kElements>& unit, const T* image, int window, int channel) const {
#pragma unroll
    for (int e = 0; e < kElements; ++e) unit.v[e] = image[(channel + e) * rows * columns + window];
  }

  template <typename T, int kElements>
  __device__ void load_units(uint8_t* to, const T* dy, const Pooling& pooling, int64_t image, bool is_there) const {
    using Unit = Pack<T, kElements>;
    using Masks = Pack<uint8_t, kElements>;
    const int units_of_window = units.by(), count = rows * columns * units_of_window;
    const Unit* const from = reinterpret_cast<const Unit*>(dy) + image * count;
    const Masks* const masks = reinterpret_cast<const Masks*>(pooling.mask) + image * count;
#pragma unroll 2
    for (int i = threadIdx.x; i < count; i += kSmallThreads) {
      const int window = units.divide(i), row = columns_of_row.divide(window);
      uint8_t* const place = to + kFusedPoolSize * (row * row_bytes + (window - row * columns) * column_bytes) +
                             (i - window * units_of_window) * sizeof(Unit);
      Unit unit = {};
      Masks mask = {};
      if (is_there) {
        mask = masks[i];
        if (pooling.is_plain)
          gather(unit, dy + image * count * kElements, window, (i - window * units_of_window) * kElements);
        else
          unit = from[i];
      }
#pragma unroll
      for (int pixel = 0; pixel < kWindowPixels; ++pixel) {
        Unit gradient;
#pragma unroll
        for (int e = 0; e < kElements; ++e)
          gradient.v[e] = from_float<T>(pixel_gradient(to_float(unit.v[e]), mask.v[e], pixel, pooling.kind));
        *reinterpret_cast<Unit*>(place + pixel / kFusedPoolSize * row_bytes + pixel % kFusedPoolSize * column_bytes) =
            gradient;
      }
    }
  }
};

// An image with zeros around it: pixel (h, w) is at (h + before[0], w + before[1]).
struct HeldImage {
  HeldRows pixels;
  int size[2] = {}, before[2] = {}, stored[2] = {};
  int chunks = 0, pixel_bytes = 0, row_bytes = 0, bytes = 0;
  int64_t elements = 0;  // in global memory

  HeldImage() = default;
  // For windows of `kernel`, which begin at each place of [out[0], out[1]].
  HeldImage(const int64_t (&in)[2], const int64_t (&out)[2], const int64_t (&kernel)[2], const int (&before_)[2],
            int channels, int element_bytes, bool loads_numbers)
      : chunks(parts_of(channels * element_bytes, kChunkBytes)),
        pixel_bytes(chunks_apart(chunks, loads_numbers) * kChunkBytes) {
    for (int i = 0; i < 2; ++i) {
      size[i] = static_cast<int>(in[i]);
      before[i] = before_[i];
      stored[i] = std::max(static_cast<int>(out[i] + kernel[i]) - 1, before[i] + size[i]);
    }
    row_bytes = stored[1] * pixel_bytes;
    bytes = stored[0] * row_bytes;
    elements = in[0] * in[1] * channels;
    pixels = HeldRows(size[0], size[1], channels, element_bytes, row_bytes, pixel_bytes);
  }

  __device__ uint8_t* first_pixel(uint8_t* to) const { return to + before[0] * row_bytes + before[1] * pixel_bytes; }
  __device__ void load(uint8_t* to, const void* from, bool is_there) const {
    pixels.load(first_pixel(to), from, is_there);
  }
};

// Pixels of images of the same size, by number: row by row, or, if they are to be pooled, window of
// 2 x 2 by window.
struct PixelNumbers {
  bool by_windows = false;
  Divisor of_image, of_row;  // of_row: of pixels, or of windows

  PixelNumbers() = default;
  PixelNumbers(const int64_t (&size)[2], bool by_windows)
      : by_windows(by_windows),
        of_image(static_cast<int>(size[0] * size[1])),
        of_row(static_cast<int>(by_windows ? size[1] / kFusedPoolSize : size[1])) {}

  struct Place {
    int row, column;
  };
  // The place of a pixel of an image in it.
  __device__ Place place(int pixel) const {
    const int cell = by_windows ? pixel / kWindowPixels : pixel, row = of_row.divide(cell);
    const int column = cell - row * of_row.by();
    if (!by_windows) return {row, column};
    return {row * kFusedPoolSize + pixel % kWindowPixels / kFusedPoolSize,
            column * kFusedPoolSize + pixel % kFusedPoolSize};
  }

  // The first byte of the window of a pixel, among images that follow each other.
  __device__ int window(int pixel, const HeldImage& x) const {
    const int image = of_image.divide(pixel);
    const Place p = place(pixel - image * of_image.by());
    return image * x.bytes + p.row * x.row_bytes + p.column * x.pixel_bytes;
  }
};

// The number of zeros around and after what is copied does not change: they are written once.
__device__ inline void clear(uint8_t* memory, int bytes) {
  for (int i = threadIdx.x * kChunkBytes; i < bytes; i += kSmallThreads * kChunkBytes)
    *reinterpret_cast<uint4*>(memory + i) = uint4{0, 0, 0, 0};
}

// How images are shared out: a block has `images_of_block` of them, `images_at_once` at a time, in
// one stage or two.
struct ImageShares {
  int images = 0, images_of_block = 0, images_at_once = 0, stages = 0;

  int blocks() const { return parts_of(images, images_of_block); }

  // As many at once as fit into `bytes` and are of use.
  static ImageShares of(int64_t images, int blocks, int pixels, int64_t bytes, int bytes_of_image, bool two_stages) {
    constexpr int kMostPixels = 2048;
    ImageShares s;
    s.images = static_cast<int>(images);
    s.images_of_block = parts_of(s.images, std::max(1, blocks));
    const int at_once = std::max(1, kMostPixels / pixels);
    s.images_at_once = std::min(s.images_of_block, at_once);
    s.stages = 1;
    if (two_stages || s.images_at_once < s.images_of_block || s.images_at_once * int64_t{bytes_of_image} > bytes) {
      s.stages = s.images_of_block > 1 ? 2 : 1;
      const auto fitting = static_cast<int>(bytes / (int64_t{s.stages} * bytes_of_image));
      s.images_at_once = std::min(std::min(parts_of(s.images_of_block, 2), at_once), fitting);
      if (fitting == 0) {  // then one image, which is loaded when the one before is done
        s.stages = 1;
        s.images_at_once = bytes_of_image <= bytes ? 1 : 0;
      }
    }
    return s;
  }
};

// Calls work(first, stage) for the images from `first` on that a block has at once, until it has
// had all. load(first, stage) begins to copy them, one stage ahead if there are two.
template <typename Load, typename Work>
__device__ inline void for_each_stage(const ImageShares& shares, Load load, Work work) {
  const int begin = blockIdx.x * shares.images_of_block, at_once = shares.images_at_once;
  const int end = min(begin + shares.images_of_block, shares.images);
  int loaded = begin, loaded_stage = 0, stage = 0;
  for (int first = begin; first < end; first += at_once) {
    for (; loaded < min(end, first + shares.stages * at_once); loaded += at_once) {
      load(loaded, loaded_stage);
      end_copies();
      loaded_stage = (loaded_stage + 1) % shares.stages;
    }
    if (loaded > first + at_once)
      wait_for_copies<1>();
    else
      wait_for_copies<0>();
    __syncthreads();
    work(first, stage);
    __syncthreads();
    stage = (stage + 1) % shares.stages;
  }
}

// Whether sizes are within what the kernels are for, apart from the room in shared memory.
inline bool is_small(DType dtype, const Convolution& v) {
  constexpr int64_t kMostSize = 32, kMostChannels = 64, kMostKernel = 7;
  if (dtype != DType::bf16 && dtype != DType::f16 && dtype != DType::f32) return false;
  for (int i = 0; i < 2; ++i)
    if (v.x_size[i] > kMostSize || v.y_size[i] > kMostSize || v.kernel[i] > kMostKernel || v.stride[i] != 1 ||
        v.dilation[i] != 1 || 2 * v.padding[i] > v.kernel[i])
      return false;
  return v.groups == 1 && std::min(v.c, v.k) >= 2 && std::max(v.c, v.k) <= kMostChannels &&
         std::min(v.y_size[0], v.y_size[1]) > 0;
}

// Calls f(std::integral_constant<int, N>{}) with the least of 2, 3, 4, 7 and 8 that is not below
// `tiles`.
template <typename F>
void with_tiles(int tiles, F&& f) {
  if (tiles <= 2) return f(std::integral_constant<int, 2>{});
  if (tiles == 3) return f(std::integral_constant<int, 3>{});
  if (tiles == 4) return f(std::integral_constant<int, 4>{});
  if (tiles <= 7) return f(std::integral_constant<int, 7>{});
  return f(std::integral_constant<int, 8>{});
}

// Fragments of f32 are rounded to TF32.
template <typename T, int kCount>
__device__ inline void round_fragments(uint32_t (&r)[kCount]) {
  if constexpr (std::is_same_v<T, float>) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) r[i] = round_to_tf32(r[i]);
  }
}

}  // namespace troika::cuda
