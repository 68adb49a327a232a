// The input gradient of conv2d of 64 channels to 128 that halves an image: 3x3, stride 2, padding
// 1, on Hopper.
//
// Pixels of dx fall into four phases, by the parity of their row and column. A phase is a small
// convolution of dy with 1, 2, 2 or 4 of the filter's taps. An even row has the middle row of the
// filter, an odd row the two others, and columns likewise. All phases read the same pixels of dy,
// and those one row and one column further on. No product is computed for nothing.
//
// As in conv2d_wide.cu, a product is weights [64 channels of dx, 16] times pixels, and images are
// the fastest axis of a tile: [rows][columns][kImages][64 channels]. A row of dy of all images is
// one product. The columns that a copy brings end with one that is outside of the image, and zero.
//
// One block per multiprocessor. All weights stay in shared memory. Warp 0 loads chunks of 64
// channels of dy. Two groups of four warps take a row of dy each, with the results of all four
// phases in registers. The second starts a chunk late, so that one multiplies while the other
// stores.
//
// With a rider, each block writes a row of sums over its part of the result: {pixels, 64 numbers,
// 64 numbers}. The sums of batch_norm2d's gradient need x of the same pixels, which are loaded to
// the places of the results. Another gradient that is added is loaded there before x. If that one
// has gaps, only the phase of even rows and columns has an addend.
#include <algorithm>
#include <utility>

#include "backends/cuda/early_start.cuh"
#include "backends/cuda/hopper/conv2d_kernels.h"
#include "backends/cuda/hopper/conv2d_tiles.h"
#include "backends/cuda/hopper/results.cuh"
#include "core/text.h"

namespace troika::cuda::hopper {
namespace {

constexpr int kChannels = kTileChannels, kDyChannels = 2 * kTileChannels;
constexpr int kChunks = kDyChannels / kTileChannels, kSlices = kTileChannels / 16;
constexpr int kPlaces = 2;  // of a group's results
constexpr int kThreads = 3 * kGroup;
constexpr int kTapBytes = kTileChannels * kRowBytes, kChunkBytes = kTaps * kTapBytes;  // of weights
constexpr int kWeightBytes = kChunks * kChunkBytes;
constexpr int kBarrierBytes = 1024;  // the last matrices reach beyond their place
constexpr int kGivenRegisters = 24, kTakenRegisters = 240;
constexpr int kOwn = 1, kStart = 3, kBoth = 4;  // barriers of threads: group g has kOwn + g

// Images of dy have kSize rows and columns. A tile has kRows rows of kImages images, one of each
// group.
template <int kSize_, int kImages_>
struct Tile {
  static constexpr int kSize = kSize_, kImages = kImages_, kRows = 2;
  static constexpr int kPitch = kSize + 1, kLoadedRows = kRows + 1;
  static constexpr int kTilesEach = kSize / kRows;  // of kImages images
  static constexpr int kColumns = kSize * kImages;  // of a product
  static constexpr int kPositionBytes = kImages * kRowBytes, kLineBytes = kPitch * kPositionBytes;
  static constexpr int kBoxBytes = kLoadedRows * kLineBytes;
  static constexpr int kStageBytes = round_up(kBoxBytes, kSwizzledBytes), kOutBytes = kColumns * kRowBytes;
  static constexpr int kFixedBytes = kWeightBytes + 2 * kPlaces * kOutBytes + kBarrierBytes;
  static constexpr int kStages = std::min((kMostSharedBytes - kFixedBytes) / kStageBytes, 4);
  static constexpr int kSharedBytes = kFixedBytes + kStages * kStageBytes;
  static_assert(kStages >= kChunks && kSize % kRows == 0 && kOutBytes % kSwizzledBytes == 0);
  static_assert((round_up(kColumns, 16) - kColumns) * kRowBytes <= kBarrierBytes);
};

// A tap of the filter, its phase, and the pixel of dy that it takes: `row` and `column` further on
// than that of the result.
struct Tap {
  int number, phase, row, column;
};

// The taps in the order of the filter.
__host__ __device__ constexpr Tap tap_at(int number) {
  const int r = number / 3, s = number % 3;
  return {number, (r == 1 ? 0 : 2) + (s == 1 ? 0 : 1), r == 0 ? 1 : 0, s == 0 ? 1 : 0};
}

// Whether no tap before has the same phase.
__host__ __device__ constexpr bool is_first_of_phase(int number) {
  for (int before = 0; before < number; ++before)
    if (tap_at(before).phase == tap_at(number).phase) return false;
  return true;
}

struct Places {  // in shared memory
  uint32_t weights, stages, outs, full, empty, weights_full, side_full;
  float* sums;  // in the place of outs, at the end
};

struct Work {
  int images, tiles;
};

// A block's tiles: `count` of them, from `first` on, `step` apart.
struct Share {
  int first, step, count;
};

__device__ inline Share share_of(const Work& work) {
  Share s;
  s.first = blockIdx.x;
  s.step = gridDim.x;
  s.count = (work.tiles - s.first + s.step - 1) / s.step;
  return s;
}

// Group g of the two.
template <typename T, Rider kRider, bool kHasGaps>
__device__ inline void multiply_and_store(const Places& m, const PhaseMaps& out, const PhaseMaps& side,
                                          const PhaseMaps& addend, const NormalizedRelu& relu_of, float* sums_of, int g,
                                          const Work& work) {
  constexpr bool kHasSide = needs_x(kRider), kAdds = kRider == Rider::masked_sums;
  constexpr int kNumbers = T::kColumns / 2;  // a thread's results of a phase
  const int lane = threadIdx.x % 32, w = threadIdx.x / 32 % 4, leader = threadIdx.x % kGroup == 0;
  const Share share = share_of(work);
  const auto place_of = [&](int phase) { return m.outs + (g * kPlaces + phase % kPlaces) * T::kOutBytes; };
  const auto side_of = [&](int phase) { return m.side_full + 8 * (g * kPlaces + phase % kPlaces); };
  const auto adds_to = [](int phase) { return kAdds && (!kHasGaps || phase == 0); };

  // This lane's row of the four matrices of a fragment, in the weights of a tap.
  const int near = lane / 8 % 2, far = lane / 16, row = lane % 8;
  const uint32_t fragment_row = m.weights + (far * 8 + row) * kRowBytes + ((w * 2 + near) ^ row) * 16;
  uint32_t fragments[kSlices][4];
  const auto load_slice = [&](int chunk, int tap, int k) {
    load_matrices<true>(fragments[k], fragment_row + chunk * kChunkBytes + tap * kTapBytes + k * 16 * kRowBytes);
  };
  wait(m.weights_full, 0);  // of the first chunk
  load_slice(0, 0, 0);
  load_slice(0, 0, 1);

  Sums sums;
  ReluOf relu;
  if (kHasSide) relu.load<kRider>(relu_of, 0);
  int stage = 0, turn = 0, side_turns[kPlaces] = {}, pixels_done = 0;
  if (g == 1) sync_threads(kStart, 2 * kGroup);
  for (int i = 0; i < share.count; ++i) {
    const int tile = share.first + i * share.step;
    const int image = tile / T::kTilesEach * T::kImages, h = tile % T::kTilesEach * T::kRows + g;
    // Loads the addend, or x, to the place of the results of a phase. The leader calls this.
    const auto load_side = [&](int phase, const PhaseMaps& maps) {
      expect_bytes(side_of(phase), T::kOutBytes);
      load_box(place_of(phase), maps.of[phase], side_of(phase), 0, image, 0, h);
    };
    const auto wait_for_side = [&](int phase) {
      wait(side_of(phase), side_turns[phase % kPlaces]);
      side_turns[phase % kPlaces] ^= 1;
    };
    if (kHasSide && leader) {
      wait_for_reads_of_stores<0>();
#pragma unroll
      for (int phase = 0; phase < kPlaces; ++phase) load_side(phase, adds_to(phase) ? addend : side);
    }
    Mask<T::kColumns> masks[kPhases];
    if constexpr (kAdds) {
#pragma unroll
      for (int phase = 0; phase < kPhases; ++phase)
        masks[phase].load(relu_of.mask, [&](int column) {
          const int from = image + column % T::kImages, dx_row = 2 * h + phase / 2;
          const int pixel = (from * 2 * T::kSize + dx_row) * 2 * T::kSize + 2 * (column / T::kImages) + phase % 2;
          return from < work.images ? pixel * (kChannels / 8) : -1;
        });
    }

    float d[kPhases * kNumbers];
    // The first phase's addend is read early, so that its x is there when the products are.
    AddedResults<T::kColumns> added;
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      wait(m.full + 8 * stage, turn);
      const uint64_t pixels = describe(m.stages + stage * T::kStageBytes + g * T::kLineBytes);
      // While slice k is multiplied, slice k + 2 is loaded into the registers of slice k - 2, which
      // is done. The last loads are those of the next chunk, and of the next tile.
      const auto multiply_tap = [&]<int kNumber>() {
        constexpr Tap kTap = tap_at(kNumber);
        constexpr int kMoved = kTap.row * T::kLineBytes + kTap.column * T::kPositionBytes;
        constexpr bool kIsFirst = is_first_of_phase(kNumber), kIsLast = kNumber + 1 == kTaps;
#pragma unroll
        for (int k = 0; k < kSlices; ++k) {
          begin_products();
          wgmma<kTap.phase * kNumbers>(Columns<T::kColumns>(), d, fragments[k], pixels + moved_by(kMoved + k * 32),
                                       kIsFirst && k == 0 ? chunk : 1);
          end_products();
          wait_for_products<2>();
          const bool is_of_next = k + 2 >= kSlices;
          if (kIsLast && k + 2 == kSlices && i == 0 && chunk + 1 < kChunks) wait(m.weights_full + 8 * (chunk + 1), 0);
          load_slice(is_of_next && kIsLast ? (chunk + 1) % kChunks : chunk,
                     is_of_next ? (kNumber + 1) % kTaps : kNumber, (k + 2) % kSlices);
        }
      };
      [&]<int... kNumbers>(std::integer_sequence<int, kNumbers...>) {
        (multiply_tap.template operator()<kNumbers>(), ...);
      }
      (std::make_integer_sequence<int, kTaps>());
      wait_for_products<0>();
      if (lane == 0) arrive(m.empty + 8 * stage);
      if (g == 0 && i == 0 && chunk == 0) arrive_threads(kStart, 2 * kGroup);
      if (adds_to(0) && chunk == 0) {
        wait_for_side(0);
        added.load(matrix_row(place_of(0)));
        sync_threads(kOwn + g, kGroup);
        if (leader) load_side(0, side);
      }
      if (++stage == T::kStages) {
        stage = 0;
        turn ^= 1;
      }
    }

#pragma unroll
    for (int phase = 0; phase < kPhases; ++phase) {
      const uint32_t here = place_of(phase), matrices = matrix_row(here);
      const float* const results = d + phase * kNumbers;
      if constexpr (kHasSide) {
        wait_for_side(phase);
      } else {
        if (leader) wait_for_reads_of_stores<kPlaces - 1>();
        sync_threads(kOwn + g, kGroup);
      }
      if (adds_to(phase)) {
        if (phase > 0) {
          added.load(matrices);
          sync_threads(kOwn + g, kGroup);
          if (leader) load_side(phase, side);
          wait_for_side(phase);
        }
        added.add(results);
        store_results<T::kColumns, kRider>(added, matrices, relu, masks[phase], sums);
      } else {
        store_results<T::kColumns, kRider>(Results{results}, matrices, relu, masks[phase], sums);
      }
      publish_stores();
      sync_threads(kOwn + g, kGroup);
      if (leader) {
        store_box(out.of[phase], here, 0, image, 0, h);
        if (kHasSide && phase + kPlaces < kPhases) {
          wait_for_reads_of_stores<0>();
          load_side(phase + kPlaces, adds_to(phase + kPlaces) ? addend : side);
        }
      }
    }
    pixels_done += min(work.images - image, T::kImages) * T::kRows * T::kSize * kPhases;
  }
  if (kRider != Rider::none) {
    if (leader) wait_for_reads_of_stores<0>();
    sync_threads(kBoth, 2 * kGroup);
    float* const to = sums_of + int64_t{blockIdx.x} * (2 * kChannels + 1);
    const float count = static_cast<float>(pixels_done);
    if (g == 0 && leader) *to = count;
    write_sums<kRider>(sums, g, m.sums, kBoth, count, to + 1, kChannels);
  }
  if (leader) wait_for_stores<0>();
}

template <typename T>
__device__ inline void load_all(const Places& m, const CUtensorMap& dy, const CUtensorMap& filter, const Work& work) {
  const Share share = share_of(work);
  for (int i = 0; i < share.count * kChunks; ++i) {
    if (i < kChunks) {
      expect_bytes(m.weights_full + 8 * i, kChunkBytes);
      for (int tap = 0; tap < kTaps; ++tap)
        load_box(m.weights + i * kChunkBytes + tap * kTapBytes, filter, m.weights_full + 8 * i, 0, tap,
                 i * kTileChannels);
    }
    const int s = i % T::kStages, tile = share.first + i / kChunks * share.step;
    wait(m.empty + 8 * s, i / T::kStages % 2 ^ 1);
    expect_bytes(m.full + 8 * s, T::kBoxBytes);
    load_box(m.stages + s * T::kStageBytes, dy, m.full + 8 * s, i % kChunks * kTileChannels,
             tile / T::kTilesEach * T::kImages, 0, tile % T::kTilesEach * T::kRows);
  }
}

template <typename T, Rider kRider, bool kHasGaps>
__global__ void __launch_bounds__(kThreads, 1)
    conv2d_64_halving_gradient_kernel(const __grid_constant__ CUtensorMap dy,
                                      const __grid_constant__ CUtensorMap filter, const __grid_constant__ PhaseMaps out,
                                      const __grid_constant__ PhaseMaps side, const __grid_constant__ PhaseMaps addend,
                                      const NormalizedRelu relu, float* sums, const Work work) {
  wait_for_kernels_before();
  extern __shared__ __align__(1024) uint8_t memory[];
  Places m;
  m.weights = shared_address(memory);
  m.stages = m.weights + kWeightBytes;
  m.outs = m.stages + T::kStages * T::kStageBytes;
  m.full = m.outs + 2 * kPlaces * T::kOutBytes;
  m.empty = m.full + 8 * T::kStages;
  m.weights_full = m.empty + 8 * T::kStages;
  m.side_full = m.weights_full + 8 * kChunks;
  m.sums = reinterpret_cast<float*>(memory + (m.outs - m.weights));
  const int thread = threadIdx.x;
  const int group = __shfl_sync(0xffffffffu, thread / kGroup, 0);  // known to be the same in a warp
  if (thread == 0) {
    for (int s = 0; s < T::kStages; ++s) {
      init_barrier(m.full + 8 * s, 1);
      init_barrier(m.empty + 8 * s, 8);
    }
    for (int chunk = 0; chunk < kChunks; ++chunk) init_barrier(m.weights_full + 8 * chunk, 1);
    for (int s = 0; s < 2 * kPlaces; ++s) init_barrier(m.side_full + 8 * s, 1);
    publish_barriers();
  }
  __syncthreads();

  if (group == 0) {
    give_registers<kGivenRegisters>();
    if (thread == 0) load_all<T>(m, dy, filter, work);
    return;
  }
  take_registers<kTakenRegisters>();
  multiply_and_store<T, kRider, kHasGaps>(m, out, side, addend, relu, sums, group - 1, work);
}

template <typename T>
int tiles_of(const Convolution& v) {
  return static_cast<int>((v.n + T::kImages - 1) / T::kImages) * T::kTilesEach;
}

// The four phases of an image of dx's size, in boxes of a row of kImages images.
template <typename T>
PhaseMaps phases_of_dx(const void* image, const Convolution& v) {
  constexpr int64_t kPixel = 2 * kChannels, kRow = kPixel * 2 * T::kSize;
  return phases_of(image, kRow, kPixel, [&](const void* first, int) {
    return map_of(first, {{kChannels, 2, kChannels},
                          {v.n, kRow * 2 * T::kSize, T::kImages},
                          {T::kSize, 2 * kPixel, T::kSize},
                          {T::kSize, 2 * kRow, 1}});
  });
}

// An image of dy's size, in boxes of so many columns and rows.
template <typename T>
CUtensorMap small_image(const void* address, const Convolution& v, int64_t channels, int64_t columns, int64_t rows) {
  return map_of_positions(address, v.n, T::kSize, channels, {T::kImages, columns, rows});
}

template <typename T, Rider kRider, bool kHasGaps>
void launch_halving(const Convolution& v, const void* weights, const void* dy, void* dx, const NormalizedRelu& relu,
                    float* sums, int blocks, cudaStream_t stream) {
  PhaseMaps side{}, addend{};
  if (needs_x(kRider)) side = phases_of_dx<T>(relu.x, v);
  if (kRider == Rider::masked_sums) {
    if (kHasGaps)
      addend.of[0] = small_image<T>(relu.addend, v, kChannels, T::kSize, 1);
    else
      addend = phases_of_dx<T>(relu.addend, v);
  }
  launch(conv2d_64_halving_gradient_kernel<T, kRider, kHasGaps>, {blocks, kThreads, T::kSharedBytes}, stream,
         small_image<T>(dy, v, kDyChannels, T::kPitch, T::kLoadedRows), map_of_filter(weights, v.k, v.c),
         phases_of_dx<T>(dx, v), side, addend, relu, sums, Work{static_cast<int>(v.n), tiles_of<T>(v)});
}

// Calls run.operator()<T>() with the tile for images of dy of this size.
template <typename Run>
auto with_tile(const Convolution& v, Run&& run) {
  switch (v.y_size[0]) {
    case 14: return run.template operator()<Tile<14, 4>>();
    case 16: return run.template operator()<Tile<16, 2>>();
    case 28: return run.template operator()<Tile<28, 2>>();
    default:
      throw Error(Status::internal, text("conv2d_64_halving_gradient has no kernel for images of ", v.x_size[0]));
  }
}

}  // namespace

int rows_of_gradient_sums_64_halving(const Convolution& v, int multiprocessors) {
  return with_tile(v, [&]<typename T>() { return std::min(tiles_of<T>(v), multiprocessors); });
}

void conv2d_64_halving_gradient(const Convolution& v, const void* weights, const void* dy, void* dx,
                                const NormalizedRelu& relu, float* sums, int multiprocessors, cudaStream_t stream) {
  const int blocks = rows_of_gradient_sums_64_halving(v, multiprocessors);
  with_tile(v, [&]<typename T>() {
    const auto run = !sums                    ? launch_halving<T, Rider::none, false>
                     : !relu.mask             ? launch_halving<T, Rider::relu_sums, false>
                     : relu.addend_stride > 1 ? launch_halving<T, Rider::masked_sums, true>
                                              : launch_halving<T, Rider::masked_sums, false>;
    run(v, weights, dy, dx, relu, sums, blocks, stream);
  });
}

}  // namespace troika::cuda::hopper
