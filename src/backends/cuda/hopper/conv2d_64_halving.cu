// conv2d of 64 channels to 128 that halves an image: 3x3, stride 2, padding 1, on Hopper.
//
// As in conv2d_64.cu, a product is weights [64 output channels, 16] times pixels. The weights stay
// in registers for all tiles of a block, and a tap is the same pixels further on. Pixels of x fall
// into four phases, by the parity of their row and column. The phases have 1, 2, 2 and 4 of the
// filter's taps. A copy brings every other pixel of every other row: a phase, as an image of y's
// size.
//
// A tile of y is kRows rows of an image, each with one column more. In the phases of odd columns
// the first column is left of the image, and zero. Results in the column after the last are
// computed and not stored.
//
// One block per multiprocessor. Warp 0 loads stages. Two groups of four warps have 64 output
// channels each, and multiply the same stage in turn: one multiplies while the other stores.
//
// With moments, each block writes a row of them over its part of y: {pixels, 128 means, 128 sums of
// squared differences from the means}.
#include <algorithm>

#include "backends/cuda/early_start.cuh"
#include "backends/cuda/hopper/conv2d_kernels.h"
#include "backends/cuda/hopper/conv2d_tiles.h"
#include "backends/cuda/hopper/results.cuh"
#include "core/text.h"

namespace troika::cuda::hopper {
namespace {

constexpr int kChannels = kTileChannels, kYChannels = 2 * kTileChannels;
constexpr int kSlices = kChannels / 16;
constexpr int kThreads = 3 * kGroup;
constexpr int kTapBytes = kTileChannels * kRowBytes, kHalfBytes = kTaps * kTapBytes;  // of weights; of a group's
constexpr int kSumBytes = 2 * kTileChannels * sizeof(float);                          // of a group
constexpr int kBarrierBytes = 1024;  // the last group's matrices reach beyond its place
constexpr int kGivenRegisters = 24, kTakenRegisters = 240;
constexpr int kTurn = 1, kOwn = 3, kWeightsRead = 5;  // barriers of threads: group g has kTurn + g and kOwn + g

__host__ __device__ constexpr bool has_odd_rows(int phase) { return phase / 2 == 1; }
__host__ __device__ constexpr bool has_odd_columns(int phase) { return phase % 2 == 1; }

// Images of y have kSize rows and columns.
template <int kSize_, int kRows_, int kStages_>
struct Tile {
  static constexpr int kSize = kSize_, kRows = kRows_, kStages = kStages_;
  static constexpr int kPitch = kSize + 1;
  static constexpr int kColumns = round_up(kRows * kPitch, 8);  // of a product
  static constexpr int kTilesEach = kSize / kRows;              // of an image
  // Rows that a copy brings: in the phases of odd rows also the one above.
  __host__ __device__ static constexpr int rows_of(int phase) { return kRows + (has_odd_rows(phase) ? 1 : 0); }
  // Bytes from a stage to one of its phases. Products read up to a row and a pixel beyond kColumns.
  __host__ __device__ static constexpr int place_of(int phase) {
    int pixels = 0;
    for (int before = 0; before < phase; ++before) pixels += (rows_of(before) * kPitch + 7) / 8 * 8;
    return pixels * kRowBytes;
  }
  static constexpr int kLoadedBytes = 2 * (rows_of(0) + rows_of(kPhases - 1)) * kPitch * kRowBytes;
  static constexpr int kStageBytes = place_of(kPhases - 1) + round_up(kColumns + kPitch + 1, 8) * kRowBytes;
  static constexpr int kOutBytes = round_up(kColumns * kRowBytes, kSwizzledBytes);
  static constexpr int kSharedBytes = kStages * kStageBytes + 2 * kOutBytes + kBarrierBytes + 2 * kSumBytes;
  static_assert(kSize % kRows == 0 && kSharedBytes <= kMostSharedBytes);
  static_assert(2 * kHalfBytes <= kStages * kStageBytes + 2 * kOutBytes);  // the weights are there first
  static_assert(rows_of(kPhases - 1) * kPitch <= kColumns + kPitch + 1);

  __host__ __device__ static constexpr bool has_column(int i) { return i % kPitch < kSize && i < kRows * kPitch; }
};

// A tap of the filter takes a phase's pixels, `pixels_on` further on than that of the result.
struct Tap {
  int phase, pixels_on;
};

__host__ __device__ constexpr Tap tap_at(int number, int pitch) {
  const int r = number / 3, s = number % 3;
  return {(r == 1 ? 0 : 2) + (s == 1 ? 0 : 1), (r == 2 ? pitch : 0) + (s == 2 ? 1 : 0)};
}

template <typename T, Rider kRider>
__global__ void __launch_bounds__(kThreads, 1)
    conv2d_64_halving_kernel(const __grid_constant__ PhaseMaps in, const __grid_constant__ CUtensorMap filter,
                             const __grid_constant__ CUtensorMap out, float* moments, int tiles) {
  wait_for_kernels_before();
  extern __shared__ __align__(1024) uint8_t memory[];
  const uint32_t stages = shared_address(memory), outs = stages + T::kStages * T::kStageBytes;
  const uint32_t full = outs + 2 * T::kOutBytes, empty = full + 8 * T::kStages, weights_full = empty + 8 * T::kStages;
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const int group = __shfl_sync(0xffffffffu, thread / kGroup, 0);  // known to be the same in a warp

  if (thread == 0) {
    for (int s = 0; s < T::kStages; ++s) {
      init_barrier(full + 8 * s, 1);
      init_barrier(empty + 8 * s, 8);
    }
    for (int g = 0; g < 2; ++g) init_barrier(weights_full + 8 * g, 1);
    publish_barriers();
    for (int g = 0; g < 2; ++g) {
      expect_bytes(weights_full + 8 * g, kHalfBytes);
      for (int t = 0; t < kTaps; ++t)
        load_box(stages + g * kHalfBytes + t * kTapBytes, filter, weights_full + 8 * g, 0, t, g * kTileChannels);
    }
  }
  __syncthreads();

  const int first = blockIdx.x, step = gridDim.x, count = (tiles - first + step - 1) / step;
  if (group == 0) {
    give_registers<kGivenRegisters>();
    if (warp > 0) return;
    sync_threads(kWeightsRead, 2 * kGroup + 32);
    if (thread == 0)
      for (int i = 0; i < count; ++i) {
        const int s = i % T::kStages, tile = first + i * step, h = tile % T::kTilesEach * T::kRows;
        wait(empty + 8 * s, i / T::kStages % 2 ^ 1);
        expect_bytes(full + 8 * s, T::kLoadedBytes);
        for (int phase = 0; phase < kPhases; ++phase)
          load_box(stages + s * T::kStageBytes + T::place_of(phase), in.of[phase], full + 8 * s, 0,
                   has_odd_columns(phase) ? -1 : 0, has_odd_rows(phase) ? h - 1 : h, tile / T::kTilesEach);
      }
    return;
  }
  take_registers<kTakenRegisters>();
  const int g = group - 1, w = warp % 4, leader = thread % kGroup == 0;
  const uint32_t own_out = outs + g * T::kOutBytes;

  // A fragment of a tap and a slice has output channels 16 w to 16 w + 15 of the group's, and 16 of
  // the input's.
  uint32_t fragments[kTaps * kSlices][4];
  wait(weights_full + 8 * g, 0);
#pragma unroll
  for (int t = 0; t < kTaps; ++t)
#pragma unroll
    for (int k = 0; k < kSlices; ++k) {
      const int matrix = lane / 8, row = lane % 8, near = matrix % 2, far = matrix / 2;
      load_matrices<false>(
          fragments[t * kSlices + k],
          stages + g * kHalfBytes + t * kTapBytes + (w * 16 + near * 8 + row) * kRowBytes + ((k * 2 + far) ^ row) * 16);
    }
  sync_threads(kWeightsRead, 2 * kGroup + 32);  // then stages take the place of weights
  Sums sums;
  for (int i = 0; i < count; ++i) {
    const int s = i % T::kStages, tile = first + i * step;
    const int h = tile % T::kTilesEach * T::kRows, image = tile / T::kTilesEach;
    wait(full + 8 * s, i / T::kStages % 2);
    if (i > 0 || g == 1) sync_threads(kTurn + g, 2 * kGroup);
    float d[T::kColumns / 2];
    const uint64_t pixels = describe(stages + s * T::kStageBytes);
    begin_products();
#pragma unroll
    for (int t = 0; t < kTaps; ++t)
#pragma unroll
      for (int k = 0; k < kSlices; ++k) {
        const Tap tap = tap_at(t, T::kPitch);
        wgmma<0>(Columns<T::kColumns>(), d, fragments[t * kSlices + k],
                 pixels + moved_by(T::place_of(tap.phase) + tap.pixels_on * kRowBytes + k * 32), t + k);
      }
    end_products();
    if (i + 1 < count || g == 0) arrive_threads(kTurn + 1 - g, 2 * kGroup);
    wait_for_products<0>();
    if (lane == 0) arrive(empty + 8 * s);

    if (leader) wait_for_reads_of_stores<0>();
    sync_threads(kOwn + g, kGroup);
    if (kRider != Rider::none) clear_absent<T>(d);
    store_results<T::kColumns, kRider>(Results{d}, matrix_row(own_out), ReluOf(), Mask<T::kColumns>(), sums);
    publish_stores();
    sync_threads(kOwn + g, kGroup);
    if (leader) store_box(out, own_out, g * kTileChannels, 0, h, image);
  }
  if (kRider != Rider::none) {
    float* const row = moments + int64_t{blockIdx.x} * (2 * kYChannels + 1);
    const float pixels = static_cast<float>(count * T::kRows * T::kSize);
    if (g == 0 && leader) *row = pixels;
    write_sums<kRider, 1>(sums, 0, reinterpret_cast<float*>(memory + (full - stages) + kBarrierBytes + g * kSumBytes),
                          kOwn + g, pixels, row + 1 + g * kTileChannels, kYChannels);
  }
  if (leader) wait_for_stores<0>();
}

template <typename T>
int blocks_of(const Convolution& v, int multiprocessors) {
  return std::min(static_cast<int>(v.n) * T::kTilesEach, multiprocessors);
}

// The four phases of x, in boxes of a tile's pixels.
template <typename T>
PhaseMaps phases_of_x(const void* x, const Convolution& v) {
  constexpr int64_t kPixel = 2 * kChannels, kRow = kPixel * 2 * T::kSize;
  return phases_of(x, kRow, kPixel, [&](const void* first, int phase) {
    return map_of(first, {{kChannels, 2, kChannels},
                          {T::kSize, 2 * kPixel, T::kPitch},
                          {T::kSize, 2 * kRow, T::rows_of(phase)},
                          {v.n, kRow * 2 * T::kSize, 1}});
  });
}

template <typename T, Rider kRider>
void launch_halving(const Convolution& v, const void* x, const void* weights, void* y, float* moments,
                    int multiprocessors, cudaStream_t stream) {
  launch(conv2d_64_halving_kernel<T, kRider>, {blocks_of<T>(v, multiprocessors), kThreads, T::kSharedBytes}, stream,
         phases_of_x<T>(x, v), map_of_filter(weights, kYChannels, kChannels),
         map_of_images(y, v.n, T::kSize, T::kPitch, T::kRows, kYChannels), moments,
         static_cast<int>(v.n) * T::kTilesEach);
}

// Calls run.operator()<T>() with the tile for images of y of this size.
template <typename Run>
auto with_tile(const Convolution& v, Run&& run) {
  switch (v.y_size[0]) {
    case 14: return run.template operator()<Tile<14, 7, 3>>();
    case 16: return run.template operator()<Tile<16, 4, 4>>();
    case 28: return run.template operator()<Tile<28, 4, 2>>();
    default: throw Error(Status::internal, text("conv2d_64_halving has no kernel for images of ", v.x_size[0]));
  }
}

}  // namespace

bool takes_conv2d_64_halving(const Convolution& v) {
  for (int axis = 0; axis < 2; ++axis)
    if (v.kernel[axis] != 3 || v.stride[axis] != 2 || v.padding[axis] != 1 || v.dilation[axis] != 1 ||
        v.x_size[axis] != 2 * v.y_size[0])
      return false;
  const int64_t size = v.y_size[0];
  return v.groups == 1 && v.c == kChannels && v.k == kYChannels && v.y_size[1] == size &&
         (size == 14 || size == 16 || size == 28);
}

int rows_of_sums_64_halving(const Convolution& v, int multiprocessors) {
  return with_tile(v, [&]<typename T>() { return blocks_of<T>(v, multiprocessors); });
}

void conv2d_64_halving(const Convolution& v, const void* x, const void* weights, void* y, float* moments,
                       int multiprocessors, cudaStream_t stream) {
  with_tile(v, [&]<typename T>() {
    const auto run = moments ? launch_halving<T, Rider::moments> : launch_halving<T, Rider::none>;
    run(v, x, weights, y, moments, multiprocessors, stream);
  });
}

}  // namespace troika::cuda::hopper
