// The weights' gradient of conv2d of small images with few channels, and the bias's.
//
// dweights [tap and input channel, output channel] = the sum over pixels of x [pixel + tap] times
// dy [pixel]. Rows of a product are two chunks of 8 input channels, each of a tap of its own. Its
// columns are 8 output channels, and its depth 16 pixels: both operands are transposed fragments.
// In TF32 a chunk has 4 channels and the depth is 8, and numbers are loaded one by one.
//
// If dy is pooled, a block makes the whole dy as it loads it.
//
// A block takes whole images, and its warps share the chunks: their sums stay in registers over all
// images of the block. If there are more chunks than registers, several blocks share them. A second
// launch adds up the sums of blocks of images, in their order.
#include <algorithm>

#include "backends/cuda/early_start.cuh"
#include "backends/cuda/epilogue.h"
#include "backends/cuda/small_conv2d.h"
#include "backends/cuda/small_conv2d_images.cuh"
#include "core/text.h"

namespace troika::cuda {
namespace {

constexpr int kM = 3;  // tiles of rows of a warp
constexpr int kMostTiles = kSmallWarps * kM;

struct SmallWeightGradient {
  HeldImage x;
  HeldRows dy;          // an image is one row
  HeldWindows windows;  // of dy, if it is pooled
  PixelNumbers y;
  ImageShares shares;
  int k = 0, c = 0, kernel[2] = {};
  int chunks = 0, tiles = 0, tiles_of_block = 0;      // of 16 rows
  int x_bytes = 0, stage_bytes = 0, table_bytes = 0;  // x_bytes: before dy, in a stage

  int parts() const { return parts_of(tiles, tiles_of_block); }
  size_t shared_bytes() const {
    constexpr int kLeast = 2 * kSmallThreads * static_cast<int>(sizeof(float));  // for BiasSums
    return static_cast<size_t>(std::max(kLeast, shares.stages * stage_bytes + table_bytes));
  }
};

// The bias's gradient: a thread sums two channels over some of the pixels.
struct BiasSums {
  float low = 0, high = 0;

  template <typename T>
  __device__ void add(const uint8_t* dy, int pixel_bytes, int pairs, int pixels) {
    const int pair = threadIdx.x % pairs, part = threadIdx.x / pairs, parts = kSmallThreads / pairs;
    if (part >= parts) return;
#pragma unroll 4
    for (int pixel = part; pixel < pixels; pixel += parts) {
      const auto v =
          *reinterpret_cast<const Pack<T, 2>*>(dy + pixel * pixel_bytes + pair * static_cast<int>(sizeof(Pack<T, 2>)));
      low += to_float(v.v[0]);
      high += to_float(v.v[1]);
    }
  }
  // shared has room for two numbers of each thread.
  __device__ void store(float* shared, int pairs, float* to, int channels) const {
    shared[2 * threadIdx.x] = low;
    shared[2 * threadIdx.x + 1] = high;
    __syncthreads();
    const int parts = kSmallThreads / pairs, channel = threadIdx.x;
    if (channel >= channels) return;
    float sum = 0;
    for (int part = 0; part < parts; ++part) sum += shared[part * 2 * pairs + channel];
    to[channel] = sum;
  }
};

template <typename T, int kN>
__global__ void __launch_bounds__(kSmallThreads, 1)
    small_weight_gradient_kernel(const T* x, const T* dy, Pooling pooling, float* weight_sums, float* bias_sums,
                                 int64_t numbers, const __grid_constant__ SmallWeightGradient s) {
  wait_for_kernels_before();
  constexpr bool kLoadsNumbers = sizeof(T) == 4;
  constexpr int kChunks = kTileRows / kChunkChannels<T>;  // of a tile of rows
  constexpr int kDepth = 2 * kChunkChannels<T>;           // pixels of a product
  extern __shared__ __align__(16) uint8_t memory[];
  const int table_begin = s.shares.stages * s.stage_bytes, image_pixels = s.y.of_image.by();
  int* const windows = reinterpret_cast<int*>(memory + table_begin);  // the first byte of each pixel's
  const int at_once = s.shares.images_at_once, depth = rounded_up(at_once * image_pixels, kDepth);
  clear(memory, table_begin);
  for (int i = threadIdx.x; i < depth; i += kSmallThreads)
    windows[i] = i < at_once * image_pixels ? s.y.window(i, s.x) : 0;  // times zeros of dy
  __syncthreads();

  const int end = min(static_cast<int>(blockIdx.x + 1) * s.shares.images_of_block, s.shares.images);
  const auto load = [&](int first, int stage) {
    uint8_t* const to = memory + stage * s.stage_bytes;
    for (int i = 0; i < at_once; ++i) {
      const bool is_there = first + i < end;
      const int64_t image = is_there ? first + i : first;
      s.x.load(to + i * s.x.bytes, x + image * s.x.elements, is_there);
      uint8_t* const dy_to = to + s.x_bytes + i * image_pixels * s.dy.column_bytes;
      if (pooling)
        s.windows.load(dy_to, dy, pooling, image, is_there);
      else
        s.dy.load(dy_to, dy + image * image_pixels * s.k, is_there);
    }
  };

  // Four matrices are loaded at once. For a the second is of the next chunk, and the last two are 8
  // pixels later. For b the second is 8 pixels later, and the last two are the next 8 channels.
  const int lane = threadIdx.x % 32;
  const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0);  // known to be the same in a warp
  const int first_tile = blockIdx.y * s.tiles_of_block, last_tile = min(first_tile + s.tiles_of_block, s.tiles);
  const auto tile_of = [&](int m) { return first_tile + warp + m * kSmallWarps; };
  const auto place_of = [&](int chunk) {
    chunk = min(chunk, s.chunks - 1);
    const int tap = chunk / s.x.chunks;
    return static_cast<uint32_t>(tap / s.kernel[1] * s.x.row_bytes + tap % s.kernel[1] * s.x.pixel_bytes +
                                 chunk % s.x.chunks * kChunkBytes);
  };
  uint32_t places[kM][kLoadsNumbers ? 2 : 1];
  float d[kM][kN][4];
#pragma unroll
  for (int m = 0; m < kM; ++m) {
    if constexpr (kLoadsNumbers) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = half * 8 + lane / 4;
        places[m][half] = place_of(tile_of(m) * kChunks + row / kChunkChannels<T>) +
                          static_cast<uint32_t>(row % kChunkChannels<T> * sizeof(T));
      }
    } else {
      places[m][0] = place_of(tile_of(m) * kChunks + lane / 8 % 2);
    }
#pragma unroll
    for (int n = 0; n < kN; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) d[m][n][i] = 0;
  }
  const int* const a_windows = windows + (kLoadsNumbers ? lane % 4 : lane / 16 * 8 + lane % 8);
  const int b_pixel = kLoadsNumbers ? lane % 4 : lane / 8 % 2 * 8 + lane % 8;
  const int b_channel = kLoadsNumbers ? lane / 4 : lane / 16 * kTileColumns;
  const uint32_t b_place =
      static_cast<uint32_t>(b_pixel * s.dy.column_bytes) + static_cast<uint32_t>(b_channel * sizeof(T));
  constexpr uint32_t kColumnBytes = kTileColumns * sizeof(T);
  const int pairs = parts_of(s.k, 2);
  const bool has_bias = bias_sums && blockIdx.y == 0;
  BiasSums bias;

  for_each_stage(s.shares, load, [&](int, int stage) {
    uint8_t* const x_images = memory + stage * s.stage_bytes;
    const uint32_t a_images = shared_address(x_images);
    uint32_t b_address = a_images + static_cast<uint32_t>(s.x_bytes) + b_place;
    for (int pixel = 0; pixel < depth;
         pixel += kDepth, b_address += static_cast<uint32_t>(kDepth * s.dy.column_bytes)) {
      uint32_t b[kN + kN % 2][2];
#pragma unroll
      for (int n = 0; n < kN; n += 2) {
        if constexpr (kLoadsNumbers) {
#pragma unroll
          for (int i = 0; i < 2 && n + i < kN; ++i)
#pragma unroll
            for (int half = 0; half < 2; ++half)
              b[n + i][half] =
                  load_word(b_address + static_cast<uint32_t>(half * 4 * s.dy.column_bytes) + (n + i) * kColumnBytes);
        } else if (n + 1 < kN) {
          uint32_t both[4];
          load_matrices<true>(both, b_address + n * kColumnBytes);
          b[n][0] = both[0], b[n][1] = both[1], b[n + 1][0] = both[2], b[n + 1][1] = both[3];
        } else {
          load_matrices<true>(b[n], b_address + n * kColumnBytes);
        }
      }
#pragma unroll
      for (int n = 0; n < kN; ++n) round_fragments<T>(b[n]);
      const uint32_t window = a_images + static_cast<uint32_t>(a_windows[pixel]);
      const uint32_t later = kLoadsNumbers ? a_images + static_cast<uint32_t>(a_windows[pixel + 4]) : 0;
#pragma unroll
      for (int m = 0; m < kM; ++m) {
        if (tile_of(m) >= last_tile) continue;  // the same for all lanes
        uint32_t a[4];
        if constexpr (kLoadsNumbers) {
#pragma unroll
          for (int i = 0; i < 4; ++i) a[i] = load_word((i < 2 ? window : later) + places[m][i % 2]);
          round_fragments<T>(a);
        } else {
          load_matrices<true>(a, window + places[m][0]);
        }
#pragma unroll
        for (int n = 0; n < kN; ++n) multiply<T>(d[m][n], a, b[n]);
      }
    }
    if (has_bias) bias.add<T>(x_images + s.x_bytes, s.dy.column_bytes, pairs, at_once * image_pixels);
  });

  weight_sums += blockIdx.x * numbers;
  const int taps = s.kernel[0] * s.kernel[1];
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = half * 8 + lane / 4;
      const int chunk = tile_of(m) * kChunks + row / kChunkChannels<T>, tap = chunk / s.x.chunks;
      const int channel = chunk % s.x.chunks * kChunkChannels<T> + row % kChunkChannels<T>;
      if (tile_of(m) >= last_tile || chunk >= s.chunks || channel >= s.c) continue;
#pragma unroll
      for (int n = 0; n < kN; ++n)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int k = n * kTileColumns + lane % 4 * 2 + i;
          if (k < s.k) weight_sums[(k * taps + tap) * s.c + channel] = d[m][n][2 * half + i];
        }
    }
  if (has_bias) bias.store(reinterpret_cast<float*>(memory), pairs, bias_sums + blockIdx.x * numbers, s.k);
}

SmallWeightGradient plan(DType dtype, const Convolution& v, bool is_pooled, const SmallConv2dLimits& limits) {
  SmallWeightGradient s;
  const int element_bytes = static_cast<int>(size_of(dtype)), channels_of_chunk = kChunkBytes / element_bytes;
  const int depth = 2 * channels_of_chunk;
  const bool loads_numbers = dtype == DType::f32;
  s.k = static_cast<int>(v.k);
  s.c = static_cast<int>(v.c);
  int before[2];
  for (int i = 0; i < 2; ++i) {
    s.kernel[i] = static_cast<int>(v.kernel[i]);
    before[i] = static_cast<int>(v.padding[i]);
  }
  s.x = HeldImage(v.x_size, v.y_size, v.kernel, before, s.c, element_bytes, loads_numbers);
  s.y = PixelNumbers(v.y_size, false);
  const int pixels = static_cast<int>(v.y_size[0] * v.y_size[1]);
  const int pixel_bytes = chunks_apart(parts_of(s.k, channels_of_chunk), loads_numbers) * kChunkBytes;
  s.dy = HeldRows(1, pixels, s.k, element_bytes, 0, pixel_bytes);
  if (is_pooled)
    s.windows = HeldWindows(v.y_size, s.k, element_bytes, static_cast<int>(v.y_size[1]) * pixel_bytes, pixel_bytes);
  s.chunks = static_cast<int>(v.taps()) * s.x.chunks;
  s.tiles = parts_of(s.chunks, kTileRows / channels_of_chunk);
  const int parts = parts_of(s.tiles, kMostTiles);
  s.tiles_of_block = parts_of(s.tiles, parts);

  // Zeros follow the pixels of dy up to the end of a product, and the tiles of columns after the
  // last.
  constexpr int kMostColumnTiles = 8, kMostTableBytes = 4 * (2048 + 16);
  const int spare_bytes = depth * pixel_bytes + kMostColumnTiles * kTileColumns * element_bytes;
  const int64_t left = static_cast<int64_t>(limits.shared_bytes) - kMostTableBytes - 2 * spare_bytes;
  s.shares = ImageShares::of(v.n, limits.multiprocessors / parts, pixels, left, s.x.bytes + pixels * pixel_bytes, true);
  const int at_once = s.shares.images_at_once;
  s.x_bytes = at_once * s.x.bytes;
  s.stage_bytes = s.x_bytes + at_once * pixels * pixel_bytes + spare_bytes;
  s.table_bytes = rounded_up(at_once * pixels, depth) * static_cast<int>(sizeof(int));
  return s;
}

// Numbers of a block of images.
int64_t numbers_of(const Convolution& v, bool bias) { return v.weight_elements() + (bias ? v.k : 0); }

}  // namespace

bool takes_small_weight_gradient(DType dtype, const Convolution& v, const SmallConv2dLimits& limits) {
  if (!is_small(dtype, v)) return false;
  const SmallWeightGradient s = plan(dtype, v, false, limits);
  return s.shares.images_at_once > 0 && s.shared_bytes() <= limits.shared_bytes;
}

void small_weight_gradient(DType dtype, const Convolution& v, const void* x, const void* dy, const Pooling& pooling,
                           float* dweights, float* dbias, void* scratch, const SmallConv2dLimits& limits,
                           cudaStream_t stream) {
  const SmallWeightGradient s = plan(dtype, v, bool{pooling}, limits);
  const int blocks = s.shares.blocks();
  const int64_t numbers = numbers_of(v, dbias);
  float *weight_sums = dweights, *bias_sums = dbias;
  if (blocks > 1) {
    weight_sums = static_cast<float*>(scratch);
    bias_sums = dbias ? weight_sums + v.weight_elements() : nullptr;
  }
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    with_tiles(parts_of(s.k, kTileColumns), [&](auto columns) {
      const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(s.parts()));
      launch_with_shared(small_weight_gradient_kernel<T, decltype(columns)::value>, grid, kSmallThreads,
                         s.shared_bytes(), stream, static_cast<const T*>(x), static_cast<const T*>(dy), pooling,
                         weight_sums, bias_sums, numbers, s);
    });
  });
  if (blocks == 1) return;
  sum_partials(static_cast<const float*>(scratch), blocks, dweights, v.weight_elements(), dbias, dbias ? v.k : 0,
               stream);
}

size_t small_weight_gradient_scratch_bytes(DType dtype, const Convolution& v, bool bias,
                                           const SmallConv2dLimits& limits) {
  const int blocks = plan(dtype, v, false, limits).shares.blocks();
  return blocks > 1 ? static_cast<size_t>(blocks * numbers_of(v, bias)) * sizeof(float) : 0;
}

}  // namespace troika::cuda
