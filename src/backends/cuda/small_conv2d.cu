// conv2d of small images with few channels, and its input gradient: products of 16 pixels and 8
// channels.
//
// A block takes whole images, and keeps the weights in shared memory for all of them. The pixels of
// its images are numbered through, and 16 are the rows of a product. The depth of a product is two
// chunks of 8 channels: each chunk has a tap of its own, so that 20 channels cost 24. A warp has kM
// x 16 pixels and all channels of the result; if there are fewer such parts than warps, several
// warps share the taps of one, and their sums are added in a fixed order. Rows of taps that see
// nothing but padding are left out.
//
// The input gradient is the same over dy with the taps mirrored: then a chunk is 8 channels of dy,
// which are rows of the weights in place of columns, and so a transposed fragment.
//
// In TF32 a chunk has 4 channels, and the depth of a product is 8. No instruction loads a
// transposed fragment of 32 bits: its numbers are loaded one by one.
//
// If the result is to be pooled, pixels are numbered window by window. The four pixels of a window
// are rows of one product, whose lanes are 4 apart, and swap their numbers. If dy is pooled, a
// block makes the whole dy as it loads it.
#include "backends/cuda/small_conv2d.h"

#include <algorithm>

#include "backends/cuda/early_start.cuh"
#include "backends/cuda/small_conv2d_images.cuh"
#include "core/text.h"

namespace troika::cuda {
namespace {

struct SmallConv2d {
  HeldImage x;          // or dy
  HeldWindows windows;  // of dy, if it is pooled
  HeldRows weights;
  PixelNumbers y;  // or dx
  ImageShares shares;
  int kernel[2] = {};
  int channels = 0;            // of the result
  int chunks = 0, steps = 0;   // of the whole sum; a step is two chunks
  int tap_bytes = 0;           // of a tap, in a row of weights
  int weight_bytes = 0;        // of all weights
  int tiles_each = 0;          // of pixels, that a warp has: they are a group
  int groups = 0, splits = 0;  // of the images at once; warps that share the taps of one
  int stage_bytes = 0, table_bytes = 0, merge_bytes = 0;

  size_t shared_bytes() const {
    return static_cast<size_t>(weight_bytes + table_bytes + shares.stages * stage_bytes + merge_bytes);
  }
};

// The tiles of 16 pixels that a warp may have, for so many tiles of 8 channels.
struct TileChoices {
  int few, many;
};
constexpr TileChoices tile_choices(int columns) {
  if (columns >= 7) return {2, 3};
  return columns == 3 ? TileChoices{3, 5} : TileChoices{4, 4};
}

// places[0][chunk]: its bytes from the first of a pixel's window; places[1][chunk]: from the first
// of the weights of a channel. A last chunk without a tap has weights that are zero.
template <typename T, bool kMirrored>
__device__ inline void make_table(int* places, const SmallConv2d& s) {
  const int taps = s.kernel[0] * s.kernel[1];
  for (int i = threadIdx.x; i < 2 * s.steps; i += kSmallThreads) {
    const int tap = i / s.x.chunks, part = i % s.x.chunks;
    const bool is_there = i < s.chunks;
    places[i] =
        !is_there ? 0 : tap / s.kernel[1] * s.x.row_bytes + tap % s.kernel[1] * s.x.pixel_bytes + part * kChunkBytes;
    places[2 * s.steps + i] = !kMirrored ? i * kChunkBytes
                              : is_there
                                  ? part * kChunkChannels<T> * s.weights.row_bytes + (taps - 1 - tap) * s.tap_bytes
                                  : taps * s.tap_bytes;
  }
}

// The steps with taps that see a part of the image from one of these pixels.
__device__ inline void find_steps(const SmallConv2d& s, int first_pixel, int last_pixel, int& begin, int& end) {
  const int image = s.y.of_image.divide(first_pixel), first_of_image = image * s.y.of_image.by();
  begin = 0;
  end = s.steps;
  if (s.y.of_image.divide(last_pixel) != image) return;
  const int first_row = s.y.place(first_pixel - first_of_image).row;
  const int last_row = s.y.place(last_pixel - first_of_image).row;
  const int chunks_of_row = s.kernel[1] * s.x.chunks;
  begin = max(0, s.x.before[0] - last_row) * chunks_of_row / 2;
  end = (min(s.kernel[0], s.x.before[0] + s.x.size[0] - first_row) * chunks_of_row + 1) / 2;
}

template <typename T>
__device__ inline void store_pair(T* to, float low, float high, bool has_both, bool is_aligned) {
  struct alignas(2 * sizeof(T)) Pair {
    T low, high;
  };
  if (has_both && is_aligned) {
    *reinterpret_cast<Pair*>(to) = {from_float<T>(low), from_float<T>(high)};
  } else {
    to[0] = from_float<T>(low);
    if (has_both) to[1] = from_float<T>(high);
  }
}

// A warp's part of the result: kM x 16 pixels, kN x 8 channels.
template <typename T, int kM_, int kN, bool kMirrored>
struct WarpResult {
  static constexpr int kM = kM_, kNumbers = kM * kN * 4;
  static constexpr bool kLoadsNumbers = kMirrored && sizeof(T) == 4;  // of weights
  float d[kM][kN][4];

  __device__ void sum(const SmallConv2d& s, uint32_t images, uint32_t weights, const int* places, int group, int split,
                      int pixels) {
    const int lane = threadIdx.x % 32, first_pixel = group * kM * kTileRows;
    uint32_t windows[kM];
#pragma unroll
    for (int m = 0; m < kM; ++m) {
      const int pixel = first_pixel + m * kTileRows + lane % 16;
      windows[m] = images + static_cast<uint32_t>(s.y.window(pixel < pixels ? pixel : 0, s.x));
#pragma unroll
      for (int n = 0; n < kN; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) d[m][n][i] = 0;
    }
    // Four matrices are loaded for b at once. The last two are the next 8 channels.
    const uint32_t row_bytes = static_cast<uint32_t>(s.weights.row_bytes);
    const uint32_t next_columns = kTileColumns * (kMirrored ? static_cast<uint32_t>(sizeof(T)) : row_bytes);
    if (kLoadsNumbers)
      weights += static_cast<uint32_t>(lane % 4) * row_bytes + static_cast<uint32_t>(lane / 4 * sizeof(T));
    else
      weights += static_cast<uint32_t>(lane % 8) * row_bytes + static_cast<uint32_t>(lane / 16) * next_columns;
    const int* const x_places = places + lane / 16;
    const int* const weight_places = places + 2 * s.steps + (kLoadsNumbers ? 0 : lane / 8 % 2);

    int begin, end;
    find_steps(s, first_pixel, min(first_pixel + kM * kTileRows, pixels) - 1, begin, end);
    const int steps = max(0, end - begin);
    end = begin + steps * (split + 1) / s.splits;
    begin += steps * split / s.splits;
#pragma unroll 2
    for (int step = begin; step < end; ++step) {
      uint32_t a[kM][4], b[kN + kN % 2][2];
      const auto x_place = static_cast<uint32_t>(x_places[2 * step]);
      const uint32_t from = weights + static_cast<uint32_t>(weight_places[2 * step]);
#pragma unroll
      for (int m = 0; m < kM; ++m) {
        load_matrices<false>(a[m], windows[m] + x_place);
        round_fragments<T>(a[m]);
      }
#pragma unroll
      for (int n = 0; n < kN; n += 2) {
        const uint32_t columns = from + n * next_columns;
        if constexpr (kLoadsNumbers) {
          const uint32_t second = weights + static_cast<uint32_t>(weight_places[2 * step + 1]) - from;
#pragma unroll
          for (int i = 0; i < 2 && n + i < kN; ++i) {
            b[n + i][0] = load_word(columns + i * next_columns);
            b[n + i][1] = load_word(columns + i * next_columns + second);
          }
        } else if (n + 1 < kN) {
          uint32_t both[4];
          load_matrices<kMirrored>(both, columns);
          b[n][0] = both[0], b[n][1] = both[1], b[n + 1][0] = both[2], b[n + 1][1] = both[3];
        } else {
          load_matrices<kMirrored>(b[n], columns);
        }
      }
#pragma unroll
      for (int n = 0; n < kN; ++n) round_fragments<T>(b[n]);
#pragma unroll
      for (int n = 0; n < kN; ++n)
#pragma unroll
        for (int m = 0; m < kM; ++m) multiply<T>(d[m][n], a[m], b[n]);
    }
  }

  // Moves the sums of a warp to another one, through `place`.
  __device__ void put(float* place) const {
#pragma unroll
    for (int i = 0; i < kNumbers; ++i) place[i * 32] = d[i / 4 / kN][i / 4 % kN][i % 4];
  }
  __device__ void add(const float* place) {
#pragma unroll
    for (int i = 0; i < kNumbers; ++i) d[i / 4 / kN][i / 4 % kN][i % 4] += place[i * 32];
  }

  // y: the first pixel's.
  __device__ void store(const SmallConv2d& s, T* y, const float* bias, bool relu, int group, int pixels) const {
    const int lane = threadIdx.x % 32;
    const bool is_aligned = s.channels % 2 == 0;
#pragma unroll
    for (int n = 0; n < kN; ++n) {
      const int channel = n * kTileColumns + lane % 4 * 2;
      if (channel >= s.channels) continue;
      const bool has_both = channel + 1 < s.channels;
      const float low_bias = bias ? bias[channel] : 0, high_bias = bias && has_both ? bias[channel + 1] : 0;
#pragma unroll
      for (int m = 0; m < kM; ++m)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int pixel = (group * kM + m) * kTileRows + half * 8 + lane / 4;
          if (pixel >= pixels) continue;
          float low = d[m][n][2 * half] + low_bias, high = d[m][n][2 * half + 1] + high_bias;
          if (relu && low < 0) low = 0;  // no comparison with NaN holds
          if (relu && high < 0) high = 0;
          store_pair(y + int64_t{pixel} * s.channels + channel, low, high, has_both, is_aligned);
        }
    }
  }

  // The same of a pooled y, and its mask: the first window's. A lane has two channels of a pixel of
  // two windows, and gets a channel of all pixels of a window.
  __device__ void store_pooled(const SmallConv2d& s, T* y, const float* bias, bool relu, const Pooling& pooling,
                               uint8_t* mask, int group, int pixels) const {
    const int lane = threadIdx.x % 32, turn = lane / 4 % kWindowPixels;  // of its window's lanes
#pragma unroll
    for (int n = 0; n < kN; ++n) {
      const int channel = n * kTileColumns + lane % 4 * 2 + turn % 2;
      const bool is_there = channel < s.channels;
      const float own_bias = bias && is_there ? bias[channel] : 0;
#pragma unroll
      for (int m = 0; m < kM; ++m) {
        float window[kWindowPixels] = {d[m][n][0], d[m][n][1], d[m][n][2], d[m][n][3]};
        transpose<4>(window, static_cast<unsigned>(turn));
#pragma unroll
        for (float& pixel : window) {
          pixel += own_bias;
          if (relu && pixel < 0) pixel = 0;  // no comparison with NaN holds
          pixel = to_float(from_float<T>(pixel));
        }
        const int first = (group * kM + m) * kTileRows + turn / 2 * 8 + lane / 16 * kWindowPixels;
        if (!is_there || first >= pixels) continue;
        const PooledWindow pooled(window, pooling.kind, relu);
        const int number = first / kWindowPixels;
        const PooledPlaces last = PooledPlaces::of(number, s.channels);
        const PooledPlaces places =
            pooling.is_plain
                ? PooledPlaces::plain(number, s.y.of_image.divide(first), s.y.of_image.by() / kWindowPixels, s.channels)
                : last;
        y[places.of_channel(channel)] = from_float<T>(pooled.value);
        mask[last.of_channel(channel)] = static_cast<uint8_t>(pooled.mask);
      }
    }
  }
};

// y is pooled, or x is, if `pooling` is there: the result of a forward convolution, or dy.
template <typename T, int kM, int kN, bool kMirrored>
__global__ void __launch_bounds__(kSmallThreads, 1)
    small_conv2d_kernel(const T* x, const T* weights, const float* bias, bool relu, T* y, Pooling pooling,
                        const __grid_constant__ SmallConv2d s) {
  wait_for_kernels_before();
  using Result = WarpResult<T, kM, kN, kMirrored>;
  extern __shared__ __align__(16) uint8_t memory[];
  uint8_t* const stages = memory + s.weight_bytes;
  int* const places = reinterpret_cast<int*>(stages + s.shares.stages * s.stage_bytes);
  float* const merge = reinterpret_cast<float*>(reinterpret_cast<uint8_t*>(places) + s.table_bytes);
  clear(memory, s.weight_bytes + s.shares.stages * s.stage_bytes);
  make_table<T, kMirrored>(places, s);
  __syncthreads();
  s.weights.load(memory, weights, true);

  const int at_once = s.shares.images_at_once, image_pixels = s.y.of_image.by();
  const int end = min(static_cast<int>(blockIdx.x + 1) * s.shares.images_of_block, s.shares.images);
  const auto load = [&](int first, int stage) {
    for (int i = 0; i < at_once && first + i < end; ++i) {
      uint8_t* const to = stages + stage * s.stage_bytes + i * s.x.bytes;
      if (kMirrored && pooling)
        s.windows.load(s.x.first_pixel(to), x, pooling, first + i, true);
      else
        s.x.load(to, x + (first + i) * s.x.elements, true);
    }
  };
  const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0);  // known to be the same in a warp
  const uint32_t weight_address = shared_address(memory), stage_address = shared_address(stages);
  for_each_stage(s.shares, load, [&](int first, int stage) {
    const int pixels = min(at_once, end - first) * image_pixels;
    const int groups = parts_of(pixels, kM * kTileRows);
    const int64_t place = int64_t{first} * image_pixels * s.channels;
    const uint32_t images = stage_address + static_cast<uint32_t>(stage * s.stage_bytes);
    for (int base = 0; base < s.groups * s.splits; base += kSmallWarps) {  // once, if there are splits
      const int group = (base + warp) % s.groups, split = (base + warp) / s.groups;
      const bool is_mine = split < s.splits && group < groups;
      Result result;
      if (is_mine) result.sum(s, images, weight_address, places, group, split, pixels);
      if (s.splits > 1) {
        float* const own = merge + group * Result::kNumbers * 32 + threadIdx.x % 32;
        const int split_numbers = s.groups * Result::kNumbers * 32;
        if (is_mine && split > 0) result.put(own + (split - 1) * split_numbers);
        __syncthreads();
        if (is_mine && split == 0)
          for (int i = 1; i < s.splits; ++i) result.add(own + (i - 1) * split_numbers);
      }
      if (!is_mine || split > 0) continue;
      if (!kMirrored && pooling)
        result.store_pooled(s, y + place / kWindowPixels, bias, relu, pooling, pooling.mask + place / kWindowPixels,
                            group, pixels);
      else
        result.store(s, y + place, bias, relu, group, pixels);
    }
  });
}

// Cuts the pixels of the images at once into groups, of as many tiles as are soonest done. `left`:
// bytes of shared memory, for the sums that warps add.
void choose_groups(SmallConv2d& s, int pixels, int columns, int64_t left) {
  constexpr int kMostSplits = 4, kFewestSteps = 4, kSchedulers = 4;
  constexpr double kProductCycles = 6.5, kTileCycles = 4, kColumnCycles = 2;  // the last two: of shared memory
  double least = 0;
  const TileChoices choices = tile_choices(columns);
  for (const int tiles : {choices.few, choices.many}) {
    const int groups = parts_of(pixels, tiles * kTileRows), numbers = tiles * columns * 4;
    const int group_bytes = numbers * 32 * static_cast<int>(sizeof(float));
    int splits = std::clamp(std::min(kSmallWarps / groups, s.steps / kFewestSteps), 1, kMostSplits);
    while (splits > 1 && int64_t{splits - 1} * groups * group_bytes > left) --splits;
    const int tasks = groups * splits;
    const double steps = static_cast<double>(s.steps) / splits,
                 products = steps * parts_of(tasks, kSchedulers) * tiles * columns * kProductCycles,
                 loads = steps * tasks * (tiles * kTileCycles + columns * kColumnCycles),
                 cycles = std::max(products, loads) + 2.0 * (splits - 1) * groups * numbers;
    if (least > 0 && cycles >= least) continue;
    least = cycles;
    s.tiles_each = tiles;
    s.groups = groups;
    s.splits = splits;
    s.merge_bytes = (splits - 1) * groups * group_bytes;
  }
}

// Plans y from x, or dx from dy. `is_pooled`: y is to be pooled, or dy is.
SmallConv2d plan(DType dtype, const Convolution& v, bool is_gradient, bool is_pooled, const SmallConv2dLimits& limits) {
  SmallConv2d s;
  const int element_bytes = static_cast<int>(size_of(dtype));
  const auto &in = is_gradient ? v.y_size : v.x_size, &out = is_gradient ? v.x_size : v.y_size;
  const int in_channels = static_cast<int>(is_gradient ? v.k : v.c), taps = static_cast<int>(v.taps());
  s.channels = static_cast<int>(is_gradient ? v.c : v.k);
  int before[2];
  for (int i = 0; i < 2; ++i) {
    s.kernel[i] = static_cast<int>(v.kernel[i]);
    before[i] = static_cast<int>(is_gradient ? v.kernel[i] - 1 - v.padding[i] : v.padding[i]);
  }
  s.x = HeldImage(in, out, v.kernel, before, in_channels, element_bytes, false);
  if (is_gradient && is_pooled) s.windows = HeldWindows(in, in_channels, element_bytes, s.x.row_bytes, s.x.pixel_bytes);
  s.y = PixelNumbers(out, !is_gradient && is_pooled);
  s.chunks = taps * s.x.chunks;
  s.steps = parts_of(s.chunks, 2);

  int columns = 0;
  with_tiles(parts_of(s.channels, kTileColumns), [&](auto n) { columns = decltype(n)::value; });
  const int weight_chunks = parts_of(static_cast<int>(v.c) * element_bytes, kChunkBytes);
  const int spare_chunks = s.chunks % 2 == 0 ? 0 : is_gradient ? weight_chunks : 1;  // without a tap
  const bool loads_numbers = is_gradient && dtype == DType::f32;
  const int row_bytes = chunks_apart(taps * weight_chunks + spare_chunks, loads_numbers) * kChunkBytes;
  s.tap_bytes = weight_chunks * kChunkBytes;
  s.weights = HeldRows(static_cast<int>(v.k), taps, static_cast<int>(v.c), element_bytes, row_bytes, s.tap_bytes);
  s.weight_bytes = row_bytes * (is_gradient ? rounded_up(static_cast<int>(v.k), kTileColumns) : columns * kTileColumns);
  s.table_bytes = rounded_up(4 * s.steps * static_cast<int>(sizeof(int)), kChunkBytes);

  const int image_pixels = static_cast<int>(out[0] * out[1]);
  const int64_t left = static_cast<int64_t>(limits.shared_bytes) - s.weight_bytes - s.table_bytes;
  s.shares = ImageShares::of(v.n, limits.multiprocessors, image_pixels, left, s.x.bytes, false);
  s.stage_bytes = s.shares.images_at_once * s.x.bytes;
  if (s.shares.images_at_once > 0)
    choose_groups(s, s.shares.images_at_once * image_pixels, columns, left - s.shares.stages * s.stage_bytes);
  return s;
}

template <bool kMirrored>
void launch(DType dtype, const SmallConv2d& s, const void* x, const void* weights, const float* bias, bool relu,
            void* y, const Pooling& pooling, cudaStream_t stream) {
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    with_tiles(parts_of(s.channels, kTileColumns), [&](auto columns) {
      constexpr int kN = decltype(columns)::value;
      constexpr TileChoices kChoices = tile_choices(kN);
      const auto run = [&](auto kernel) {
        launch_with_shared(kernel, dim3(static_cast<unsigned>(s.shares.blocks())), kSmallThreads, s.shared_bytes(),
                           stream, static_cast<const T*>(x), static_cast<const T*>(weights), bias, relu,
                           static_cast<T*>(y), pooling, s);
      };
      if (s.tiles_each == kChoices.few)
        run(small_conv2d_kernel<T, kChoices.few, kN, kMirrored>);
      else
        run(small_conv2d_kernel<T, kChoices.many, kN, kMirrored>);
    });
  });
}

bool fits(const SmallConv2d& s, const SmallConv2dLimits& limits) {
  return s.shares.images_at_once > 0 && s.shared_bytes() <= limits.shared_bytes;
}

}  // namespace

bool takes_small_conv2d(DType dtype, const Convolution& v, const SmallConv2dLimits& limits) {
  return is_small(dtype, v) && fits(plan(dtype, v, false, false, limits), limits);
}

bool takes_small_input_gradient(DType dtype, const Convolution& v, const SmallConv2dLimits& limits) {
  return is_small(dtype, v) && fits(plan(dtype, v, true, false, limits), limits);
}

void small_conv2d(DType dtype, const Convolution& v, const void* x, const void* weights, const float* bias, bool relu,
                  void* y, const Pooling& pooling, const SmallConv2dLimits& limits, cudaStream_t stream) {
  launch<false>(dtype, plan(dtype, v, false, bool{pooling}, limits), x, weights, bias, relu, y, pooling, stream);
}

void small_input_gradient(DType dtype, const Convolution& v, const void* weights, const void* dy,
                          const Pooling& pooling, void* dx, const SmallConv2dLimits& limits, cudaStream_t stream) {
  launch<true>(dtype, plan(dtype, v, true, bool{pooling}, limits), dy, weights, nullptr, false, dx, pooling, stream);
}

}  // namespace troika::cuda
