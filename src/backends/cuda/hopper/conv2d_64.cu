// conv2d of 64 channels to 64 and its input gradient: 3x3, stride 1, padding 1, on Hopper.
//
// The product is turned: d [64 output channels, pixels] = weights [64, 576] times pixels. So the
// weights are the operand that stays in registers for the whole kernel, and a product reads only
// pixels from shared memory.
//
// A tile is kRows rows of one image. A copy brings 2 rows more and one column more, with zeros
// outside of the image: pixel (r, c) is row r kPitch + c of the stage. One column of padding is
// enough, because the left padding of a row is the right padding of the row before. Tap (r, s) of
// the filter is the same tile r kPitch + s pixels further on. So 9 taps times 4 slices of 16
// channels are 36 products that read one tile. Results for columns that do not exist are not
// stored.
//
// With a rider, each block writes a row of sums over its part of the result: {pixels, 64 numbers,
// 64 numbers}. The sums of batch_norm2d's gradient need x of the same tile, which is loaded to the
// place of the results. Another gradient that is added has a place of its own, for which there is
// one stage less.
//
// One block per multiprocessor. Warp 0 loads; two groups of four warps take turns, tile by tile:
// while one multiplies, the other rounds and stores.
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/hopper/conv2d_kernels.h"
#include "backends/cuda/hopper/conv2d_tiles.h"
#include "backends/cuda/hopper/normalized_input.cuh"
#include "backends/cuda/hopper/results.cuh"
#include "core/text.h"

namespace troika::cuda::hopper {
namespace {

constexpr int kChannels = kTileChannels, kSlices = 4;  // a slice: 16 channels
constexpr int kThreads = 3 * kGroup;
constexpr int kSumBytes = 2 * kGroup * sizeof(Sums);
constexpr int kWeightBytes = kTaps * kChannels * kRowBytes;
constexpr int kGivenRegisters = 24, kTakenRegisters = 240;  // of a thread that loads, and that multiplies

template <int kSize_, int kRows_>
struct Tile {
  static constexpr int kSize = kSize_, kRows = kRows_;
  static constexpr int kPitch = kSize + 1;
  static constexpr int kColumns = round_up(kRows * kPitch, 8);            // of a product
  static constexpr int kLoaded = (kRows + 2) * kPitch;                    // pixels that a copy brings
  static constexpr int kPixels = round_up(kColumns + 2 * kPitch + 2, 8);  // that products read
  static constexpr int kStageBytes = kPixels * kRowBytes, kOutBytes = round_up(kColumns * kRowBytes, kSwizzledBytes);
  static constexpr int kTilesEach = kSize / kRows;  // of an image
  static constexpr int kBarrierBytes = 1024;        // the last group's matrices reach beyond its place
  __host__ __device__ static constexpr int stages(Rider rider) { return rider == Rider::masked_sums ? 3 : 4; }
  __host__ __device__ static constexpr int places(Rider rider) {
    return rider == Rider::masked_sums ? 4 : 2;
  }  // of results and addends
  static constexpr int shared_bytes(Rider rider) {
    return kWeightBytes + stages(rider) * kStageBytes + places(rider) * kOutBytes + kBarrierBytes +
           (rider == Rider::masked_sums ? kSumBytes : 0);
  }
  static_assert(kStageBytes % kSwizzledBytes == 0 && kLoaded <= kPixels && kSize % kRows == 0);

  __host__ __device__ static constexpr bool has_column(int i) { return i % kPitch < kSize && i < kRows * kPitch; }
};

// Numbers of barriers of threads. Group g has kTurn + g and kOwn + g.
constexpr int kTurn = 1, kOwn = 3, kBoth = 5;

template <typename T, bool kGradient, Rider kRider, bool kNormalizes>
__global__ void __launch_bounds__(kThreads, 1)
    conv2d_64_kernel(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap filter,
                     const __grid_constant__ CUtensorMap out, const __grid_constant__ CUtensorMap side,
                     const __grid_constant__ CUtensorMap addend, const NormalizedRelu relu_of, float* sums_of,
                     int tiles) {
  wait_for_kernels_before();
  constexpr bool kHasSide = needs_x(kRider), kAdds = kRider == Rider::masked_sums;
  constexpr int kStages = T::stages(kRider), kPlaces = T::places(kRider);
  extern __shared__ __align__(1024) uint8_t memory[];
  const uint32_t weights = shared_address(memory);
  const uint32_t stages = weights + kWeightBytes, outs = stages + kStages * T::kStageBytes;
  const uint32_t full = outs + kPlaces * T::kOutBytes, empty = full + 8 * kStages, weights_full = empty + 8 * kStages;
  const uint32_t side_full = weights_full + 8, table = full + T::kBarrierBytes - NormalizedInput::kTableBytes;
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const int group = __shfl_sync(0xffffffffu, thread / kGroup, 0);  // known to be the same in a warp

  if (thread == 0) {
    for (int s = 0; s < kStages; ++s) {
      init_barrier(full + 8 * s, 1);
      init_barrier(empty + 8 * s, 4);
    }
    init_barrier(weights_full, 1);
    init_barrier(side_full, 1);
    init_barrier(side_full + 8, 1);
    publish_barriers();
    publish_stores();
    expect_bytes(weights_full, kWeightBytes);
    for (int t = 0; t < kTaps; ++t) load_box(weights + t * kChannels * kRowBytes, filter, weights_full, 0, t, 0);
  }
  // Pixels after the loaded ones stay zero. The first is the right padding of the last row.
  constexpr int kAfter = (T::kPixels - T::kLoaded) * kRowBytes / 16;
  for (int i = thread; i < kStages * kAfter; i += kThreads)
    store_shared(stages + i / kAfter * T::kStageBytes + T::kLoaded * kRowBytes + i % kAfter * 16, {0, 0, 0, 0});
  if (kHasSide)  // columns that a copy of the side does not bring
    for (int i = thread; i < kPlaces * (T::kOutBytes / 16); i += kThreads) store_shared(outs + i * 16, {0, 0, 0, 0});
  if constexpr (kNormalizes) NormalizedInput::store_table(table, relu_of);
  publish_stores();
  __syncthreads();

  const int first = blockIdx.x, step = gridDim.x, count = (tiles - first + step - 1) / step;
  if (group == 0) {
    give_registers<kGivenRegisters>();
    if (thread == 0)
      for (int i = 0; i < count; ++i) {
        const int s = i % kStages, tile = first + i * step;
        wait(empty + 8 * s, i / kStages % 2 ^ 1);
        expect_bytes(full + 8 * s, T::kLoaded * kRowBytes);
        load_box(stages + s * T::kStageBytes, in, full + 8 * s, 0, -1, tile % T::kTilesEach * T::kRows - 1,
                 tile / T::kTilesEach);
      }
    return;
  }
  take_registers<kTakenRegisters>();
  const int g = group - 1, w = warp % 4, leader = thread % kGroup == 0;
  const uint32_t own_out = outs + g * T::kOutBytes, own_addend = own_out + 2 * T::kOutBytes;

  // A fragment of a tap and a slice has output channels 16 w to 16 w + 15 and 16 of the input's.
  // The gradient takes the taps in reverse order, and transposes each.
  uint32_t fragments[kTaps * kSlices][4];
  wait(weights_full, 0);
#pragma unroll
  for (int t = 0; t < kTaps; ++t)
#pragma unroll
    for (int k = 0; k < kSlices; ++k) {
      const int matrix = lane / 8, row = lane % 8, near = matrix % 2, far = matrix / 2;
      const uint32_t tap = weights + (kGradient ? kTaps - 1 - t : t) * kChannels * kRowBytes;
      load_matrices<kGradient>(fragments[t * kSlices + k],
                               kGradient ? tap + (k * 16 + far * 8 + row) * kRowBytes + ((w * 2 + near) ^ row) * 16
                                         : tap + (w * 16 + near * 8 + row) * kRowBytes + ((k * 2 + far) ^ row) * 16);
    }
  // With a mask, registers are short: sums are kept in shared memory, and means are loaded for each
  // tile.
  Sums own_sums;
  Sums& sums =
      kAdds ? reinterpret_cast<Sums*>(memory + (full + T::kBarrierBytes - weights))[thread - kGroup] : own_sums;
  sums = {};
  ReluOf relu;
  if (kHasSide && !kAdds) relu.load<kRider>(relu_of, 0);
  Mask<T::kColumns, false> mask;
  for (int i = g; i < count; i += 2) {
    const int s = i % kStages, tile = first + i * step;
    const int h = tile % T::kTilesEach * T::kRows, image = tile / T::kTilesEach;
    if (kHasSide && leader) {
      wait_for_reads_of_stores<0>();
      expect_bytes(side_full + 8 * g, (kAdds ? 2 : 1) * T::kRows * T::kPitch * kRowBytes);
      load_box(own_out, side, side_full + 8 * g, 0, 0, h, image);
      if (kAdds) load_box(own_addend, addend, side_full + 8 * g, 0, 0, h, image);
    }
    if (kAdds)
      mask.load(relu_of.mask, [&](int column) {
        const int pixel = (image * T::kSize + h + column / T::kPitch) * T::kSize + column % T::kPitch;
        return T::has_column(column) ? pixel * (kChannels / 8) : -1;
      });
    wait(full + 8 * s, i / kStages % 2);
    if constexpr (kNormalizes) {
      NormalizedInput norm;
      norm.load(table);
      constexpr int kStep = kGroup / NormalizedInput::kChunks;
      norm.apply<T::kSize, T::kPitch, T::kLoaded, kStep>(stages + s * T::kStageBytes, thread % kGroup, h - 1);
      publish_stores();
      sync_threads(kOwn + g, kGroup);
    }
    if (i > 0) sync_threads(kTurn + g, 2 * kGroup);
    float d[T::kColumns / 2];
    const uint64_t pixels = describe(stages + s * T::kStageBytes);
    begin_products();
#pragma unroll
    for (int t = 0; t < kTaps; ++t)
#pragma unroll
      for (int k = 0; k < kSlices; ++k)
        wgmma<0>(Columns<T::kColumns>(), d, fragments[t * kSlices + k],
                 pixels + moved_by((t / 3 * T::kPitch + t % 3) * kRowBytes + k * 32), t + k);
    end_products();
    if (i + 1 < count) arrive_threads(kTurn + 1 - g, 2 * kGroup);
    wait_for_products<0>();
    if (lane == 0) arrive(empty + 8 * s);

    if (kHasSide) {
      wait(side_full + 8 * g, i / 2 % 2);
    } else {
      if (leader) wait_for_reads_of_stores<0>();
      sync_threads(kOwn + g, kGroup);
    }
    if (kRider != Rider::none) clear_absent<T>(d);
    if constexpr (kAdds) {
      AddedResults<T::kColumns> results;
      results.add(d, matrix_row(own_addend));
      relu.load<kRider>(relu_of, 0);
      store_results<T::kColumns, kRider>(results, matrix_row(own_out), relu, mask, sums);
    } else {
      store_results<T::kColumns, kRider>(Results{d}, matrix_row(own_out), relu, mask, sums);
    }
    publish_stores();
    sync_threads(kOwn + g, kGroup);
    if (leader) store_box(out, own_out, 0, 0, h, image);
  }
  if (kRider != Rider::none) {
    sync_threads(kBoth, 2 * kGroup);  // both groups have their weights in registers: the place is free
    float* const row = sums_of + int64_t{blockIdx.x} * (2 * kChannels + 1);
    const float pixels = static_cast<float>(count * T::kRows * T::kSize);
    if (g == 0 && leader) *row = pixels;
    write_sums<kRider>(sums, g, reinterpret_cast<float*>(memory), kBoth, pixels, row + 1, kChannels);
  }
  if (leader) wait_for_stores<0>();
}

template <typename T>
int blocks_of(const Convolution& v, int multiprocessors) {
  return std::min(static_cast<int>(v.n) * T::kTilesEach, multiprocessors);
}

template <typename T, bool kGradient, Rider kRider, bool kNormalizes = false>
void launch_64(const Convolution& v, const void* in, const void* weights, void* out, const NormalizedRelu& relu,
               float* sums, int multiprocessors, cudaStream_t stream) {
  const auto image = [&](const void* address, int64_t rows) {
    return map_of_images(address, v.n, T::kSize, T::kPitch, rows);
  };
  static_assert(T::shared_bytes(kRider) <= kMostSharedBytes);
  launch(conv2d_64_kernel<T, kGradient, kRider, kNormalizes>,
         {blocks_of<T>(v, multiprocessors), kThreads, T::shared_bytes(kRider)}, stream, image(in, T::kRows + 2),
         map_of_filter(weights, kChannels, kChannels), image(out, T::kRows),
         needs_x(kRider) ? image(relu.x, T::kRows) : CUtensorMap{},
         kRider == Rider::masked_sums ? image(relu.addend, T::kRows) : CUtensorMap{}, relu, sums,
         static_cast<int>(v.n) * T::kTilesEach);
}

// Calls run.operator()<T>() with the tile for images of this size.
template <typename Run>
auto with_tile(const Convolution& v, Run&& run) {
  switch (v.x_size[0]) {
    case 28: return run.template operator()<Tile<28, 4>>();
    case 32: return run.template operator()<Tile<32, 2>>();
    case 56: return run.template operator()<Tile<56, 2>>();
    default: throw Error(Status::internal, text("conv2d_64 has no kernel for images of ", v.x_size[0]));
  }
}

}  // namespace

bool takes_conv2d_64(const Convolution& v) {
  const int64_t size = v.x_size[0];
  return v.c == kChannels && (size == 28 || size == 32 || size == 56);
}

int rows_of_sums_64(const Convolution& v, int multiprocessors) {
  return with_tile(v, [&]<typename T>() { return blocks_of<T>(v, multiprocessors); });
}

void conv2d_64(const Convolution& v, const void* x, const NormalizedRelu& norm, const void* weights, void* y,
               float* moments, int multiprocessors, cudaStream_t stream) {
  with_tile(v, [&]<typename T>() {
    const auto run = !norm.mean ? (moments ? launch_64<T, false, Rider::moments> : launch_64<T, false, Rider::none>)
                     : moments  ? launch_64<T, false, Rider::moments, true>
                                : launch_64<T, false, Rider::none, true>;
    run(v, x, weights, y, norm, moments, multiprocessors, stream);
  });
}

void conv2d_64_input_gradient(const Convolution& v, const void* weights, const void* dy, void* dx,
                              const NormalizedRelu& relu, float* sums, int multiprocessors, cudaStream_t stream) {
  with_tile(v, [&]<typename T>() {
    (!sums       ? launch_64<T, true, Rider::none>
     : relu.mask ? launch_64<T, true, Rider::masked_sums>
                 : launch_64<T, true, Rider::relu_sums>)(v, dy, weights, dx, relu, sums, multiprocessors, stream);
  });
}

}  // namespace troika::cuda::hopper
