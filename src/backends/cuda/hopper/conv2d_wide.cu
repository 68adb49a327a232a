// conv2d of 128 channels and more on small images, and its input gradient: 3x3, stride 1, padding
// 1, on Hopper.
//
// As in conv2d_64.cu, a product is weights [64 output channels, 16] times pixels. Images are the
// fastest axis of a tile: [rows][columns][kImages][64 channels]. So a row of positions of all
// images is one product, and a tap is the same tile a position or a row of positions further on. No
// column of a product is computed for nothing.
//
// Products with padding are left out if they fill a whole product: rows of the filter above or
// below the image. If `kHasEdges`, the first and last column of a row have products of their own,
// and columns left and right of the image are left out, too.
//
// Weights of a tap and 64 input channels, 8 KB, pass through a ring in shared memory. A fragment is
// loaded two slices before its use, and serves all products of its tap.
//
// One block per multiprocessor, always with the same 64 output channels. Warp 0 loads. Two groups
// of four warps take different rows of a tile. The second starts some taps late, so that one
// multiplies while the other stores.
//
// With a rider, the blocks with the same tiles write a row of sums over their part of the result:
// {pixels, numbers [channels], numbers [channels]}. The sums of batch_norm2d's gradient need x of
// the same rows, which are loaded to the places of the results. Another gradient that is added is
// loaded there before x.
#include <utility>

#include "backends/cuda/early_start.cuh"
#include "backends/cuda/hopper/conv2d_kernels.h"
#include "backends/cuda/hopper/conv2d_tiles.h"
#include "backends/cuda/hopper/results.cuh"
#include "core/text.h"

namespace troika::cuda::hopper {
namespace {

constexpr int kSlices = 4;  // of 64 channels: 16 channels each
constexpr int kThreads = 3 * kGroup;
constexpr int kMostSlots = 8, kLag = 2;  // of the ring; taps that the second group starts later
constexpr int kSlotBytes = kTileChannels * kRowBytes;
constexpr int kBarrierBytes = 512;
constexpr int kMostImages = 16;  // of a tile, if a mask takes registers
constexpr int kGivenRegisters = 72, kTakenRegisters = 216;

__host__ __device__ constexpr int higher(int a, int b) { return a > b ? a : b; }
__host__ __device__ constexpr int lower(int a, int b) { return a < b ? a : b; }

// The shape of a tile: kRows rows of kImages images, the first kFirstRows of them of the first
// group. A group has kOutRows rows of outputs in shared memory.
template <int kSize_, int kImages_, int kRows_, int kFirstRows_, bool kHasEdges_, int kStages_, int kOutRows_>
struct Tile {
  static constexpr int kSize = kSize_, kImages = kImages_, kRows = kRows_;
  static constexpr int kFirstRows = kFirstRows_, kStages = kStages_, kOutRows = kOutRows_;
  static constexpr bool kHasEdges = kHasEdges_;
  static constexpr bool kIsWhole = kRows == kSize;  // images, without rows of others around
  static constexpr int kParts = kSize / kRows;      // tiles of an image
  static constexpr int kLoadedRows = kIsWhole ? kSize : kRows + 2;
  // Without products for the edges, a position of zeros separates the rows: right padding of one,
  // left padding of the next.
  static constexpr int kPitch = kHasEdges ? kSize : kSize + 1;
  static constexpr int kColumns = kSize * kImages;  // of a product: a row of positions
  static constexpr int kOutBytes = kColumns * kRowBytes;
  static constexpr int kBoxBytes = kLoadedRows * kPitch * kImages * kRowBytes;
  static constexpr int kStageBytes = round_up(kBoxBytes, kSwizzledBytes);
  // Zeros after the last stage. Those after others are the padding that the next begins with.
  static constexpr int kAfterBytes = kHasEdges || kStageBytes > kBoxBytes
                                         ? 0
                                         : round_up(kImages* kRowBytes, kSwizzledBytes);
  static constexpr int kFixedBytes = kStages * kStageBytes + kAfterBytes + 2 * kOutRows * kOutBytes + kBarrierBytes;
  static constexpr int kSlots = lower((kMostSharedBytes - kFixedBytes) / kSlotBytes, kMostSlots);
  static constexpr int kSharedBytes = kFixedBytes + kSlots * kSlotBytes;
  static_assert(kOutRows == kFirstRows, "x needs a place for each row");
  static_assert(kSlots >= kLag + 2 && kOutBytes % kSwizzledBytes == 0 && kParts <= 2 && kFirstRows * 2 >= kRows);
  static_assert(kBoxBytes % kSwizzledBytes == 0 || kStageBytes - kBoxBytes >= kImages * kRowBytes, "room for zeros");
};

struct Places {  // in shared memory
  uint32_t stages, outs, slots, full, empty, weights_full, weights_empty, side_full;
  float* sums;  // in the place of outs, at the end
};

// The centre first: it reaches every position.
__host__ __device__ constexpr int tap_at(int order) { return order == 0 ? 4 : order <= 4 ? order - 1 : order; }

// Multiplies a slice of a tap by rows [kLow, kHigh) of a group whose first row is kFirst. `pixels`
// describes the stage from the slice on; its row kIn is that of output row 0 at this tap. Products
// have the same results in every call: otherwise the compiler waits for each.
template <typename T, int kFirst, int kLow, int kHigh, int kIn, int kTapColumn, int kCount>
__device__ inline void multiply(float (&d)[kCount], const uint32_t (&a)[4], uint64_t pixels, int adds) {
  if constexpr (kLow < kHigh) {
    constexpr int kPosition = T::kImages * kRowBytes;
    constexpr int kAt = (kLow - kFirst) * (T::kColumns / 2);
    constexpr int kStart = ((kLow + kIn) * T::kPitch + kTapColumn) * kPosition;
    if constexpr (T::kHasEdges) {
      constexpr int kMiddle = (T::kSize - 2) * T::kImages, kLast = (T::kSize - 2) * kPosition;
      if constexpr (kTapColumn != 0)
        wgmma<kAt>(Columns<T::kImages>(), d, a, pixels + moved_by(kStart - kPosition), adds);
      wgmma<kAt + T::kImages / 2>(Columns<kMiddle>(), d, a, pixels + moved_by(kStart), adds);
      if constexpr (kTapColumn != 2)
        wgmma<kAt + (T::kImages + kMiddle) / 2>(Columns<T::kImages>(), d, a, pixels + moved_by(kStart + kLast), adds);
    } else {
      wgmma<kAt>(Columns<T::kColumns>(), d, a, pixels + moved_by(kStart), adds);
    }
    multiply<T, kFirst, kLow + 1, kHigh, kIn, kTapColumn>(d, a, pixels, adds);
  }
}

// Numbers of barriers of threads. Group g has kOwn + g.
constexpr int kOwn = 2, kStart = 4, kBoth = 5;

// `groups` of 64 output channels, and of as many input channels.
struct Work {
  int groups, images, tiles;
};

// A block's tiles: `count` of them, from `first` on, `step` apart. All are the same part of images.
struct Share {
  int channel, first, step, count;
};

__device__ inline Share share_of(const Work& work) {
  Share s;
  s.channel = blockIdx.x % work.groups * kTileChannels;
  s.first = blockIdx.x / work.groups;
  s.step = gridDim.x / work.groups;
  s.count = s.first < work.tiles ? (work.tiles - s.first + s.step - 1) / s.step : 0;
  return s;
}

// Group g: rows kFirst to kFirst + kCount - 1 of tiles that are part kPart of their images.
template <typename T, bool kGradient, Rider kRider, int kFirst, int kCount, int kPart>
__device__ inline void multiply_and_store(const Places& m, const CUtensorMap& out, const CUtensorMap& side,
                                          const CUtensorMap& addend, const NormalizedRelu& relu_of, float* sums_of,
                                          int g, const Work& work) {
  constexpr bool kHasSide = needs_x(kRider), kAdds = kRider == Rider::masked_sums;
  constexpr int kNumbers = T::kColumns / 2;  // a thread's results of a row
  const int lane = threadIdx.x % 32, w = threadIdx.x / 32 % 4, leader = threadIdx.x % kGroup == 0;
  const Share share = share_of(work);
  const int taps = share.count * work.groups * kTaps;
  const uint32_t own_out = m.outs + g * T::kOutRows * T::kOutBytes;

  // This lane's row of the four matrices of a fragment, in a slot.
  const int near = lane / 8 % 2, far = lane / 16, row = lane % 8;
  const uint32_t fragment_row =
      kGradient ? (far * 8 + row) * kRowBytes + ((w * 2 + near) ^ row) * 16 : (w * 16 + near * 8 + row) * kRowBytes;
  uint32_t fragments[kSlices][4];
  int slot = 0, slot_turn = 0, begun_taps = 0;  // of the slot whose slices are loaded next
  const auto load_slice = [&](int k) {
    const uint32_t at = m.slots + slot * kSlotBytes + fragment_row;
    load_matrices<kGradient>(fragments[k], kGradient ? at + k * 16 * kRowBytes : at + ((k * 2 + far) ^ row) * 16);
  };
  if (share.count > 0) {
    if (g == 1) sync_threads(kStart, 2 * kGroup);
    wait(m.weights_full, 0);
    load_slice(0);
    load_slice(1);
  }
  int stage = 0, turn = 0, pixels_done = 0;
  Sums sums;
  ReluOf relu;
  if (kHasSide) relu.load<kRider>(relu_of, share.channel);
  Mask<T::kColumns> masks[kCount];
  for (int i = 0; i < share.count; ++i) {
    float d[kCount * kNumbers];
    const int tile = share.first + i * share.step;
    const int image = tile / T::kParts * T::kImages, h = tile % T::kParts * T::kRows + kFirst;
    if (kHasSide && leader) {
      wait_for_reads_of_stores<0>();
      expect_bytes(m.side_full + 8 * g, kCount * T::kOutBytes);
#pragma unroll
      for (int r = 0; r < kCount; ++r)
        load_box(own_out + r * T::kOutBytes, kAdds ? addend : side, m.side_full + 8 * g, share.channel, image, 0,
                 h + r);
    }
    if constexpr (kAdds) {
#pragma unroll
      for (int r = 0; r < kCount; ++r)
        masks[r].load(relu_of.mask, [&](int column) {
          const int from = image + column % T::kImages;
          const int pixel = (from * T::kSize + h + r) * T::kSize + column / T::kImages;
          return from < work.images ? pixel * (work.groups * kTileChannels / 8) + share.channel / 8 : -1;
        });
    }
    for (int chunk = 0; chunk < work.groups; ++chunk) {
      wait(m.full + 8 * stage, turn);
      const uint64_t pixels = describe(m.stages + stage * T::kStageBytes);
      // While slice k is multiplied, slice k + 2 is loaded into the registers of slice k - 2, which
      // is done.
      const auto multiply_tap = [&]<int kOrder>() {
        constexpr int kTap = tap_at(kOrder), kTapRow = kTap / 3, kAbove = kPart * T::kRows;
        constexpr int kLow = higher(kFirst, 1 - kTapRow - kAbove);
        constexpr int kHigh = lower(kFirst + kCount, T::kSize + 1 - kTapRow - kAbove);
        const int used = slot;
#pragma unroll
        for (int k = 0; k < kSlices; ++k) {
          begin_products();
          multiply<T, kFirst, kLow, kHigh, T::kIsWhole ? kTapRow - 1 : kTapRow, kTap % 3>(
              d, fragments[k], pixels + moved_by(k * 32), kOrder == 0 && k == 0 ? chunk : 1);
          end_products();
          wait_for_products<2>();
          if (k == 2) {
            ++begun_taps;
            if (++slot == T::kSlots) {
              slot = 0;
              slot_turn ^= 1;
            }
            if (begun_taps < taps) wait(m.weights_full + 8 * slot, slot_turn);
          }
          load_slice((k + 2) % kSlices);
          if (k == 3 && lane == 0) {
            arrive(m.weights_empty + 8 * used);
            if (kOrder == 0 && chunk > 0) arrive(m.empty + 8 * (stage == 0 ? T::kStages - 1 : stage - 1));
          }
        }
        if (kOrder == kLag - 1 && g == 0 && i == 0 && chunk == 0) arrive_threads(kStart, 2 * kGroup);
      };
      [&]<int... kOrders>(std::integer_sequence<int, kOrders...>) {
        (multiply_tap.template operator()<kOrders>(), ...);
      }
      (std::make_integer_sequence<int, kTaps>());
      if (chunk + 1 == work.groups) {
        wait_for_products<0>();
        if (lane == 0) arrive(m.empty + 8 * stage);
      }
      if (++stage == T::kStages) {
        stage = 0;
        turn ^= 1;
      }
    }

    AddedResults<T::kColumns> added[kCount];
    if constexpr (kAdds) {
      wait(m.side_full + 8 * g, 0);
      if (leader) expect_bytes(m.side_full + 8 * g, kCount * T::kOutBytes);
#pragma unroll
      for (int r = 0; r < kCount; ++r) {
        added[r].add(d + r * kNumbers, matrix_row(own_out + r * T::kOutBytes));
        sync_threads(kOwn + g, kGroup);
        if (leader) load_box(own_out + r * T::kOutBytes, side, m.side_full + 8 * g, share.channel, image, 0, h + r);
      }
      wait(m.side_full + 8 * g, 1);
    } else if (kHasSide) {
      wait(m.side_full + 8 * g, i % 2);
    } else {
      if (leader) wait_for_reads_of_stores<0>();
      sync_threads(kOwn + g, kGroup);
    }
#pragma unroll
    for (int r = 0; r < kCount; ++r) {
      const uint32_t here = own_out + r * T::kOutBytes;
      // Images that do not exist are 0.
      if constexpr (kAdds)
        store_results<T::kColumns, kRider>(added[r], matrix_row(here), relu, masks[r], sums);
      else
        store_results<T::kColumns, kRider>(Results{d + r * kNumbers}, matrix_row(here), relu, masks[r], sums);
      publish_stores();
      sync_threads(kOwn + g, kGroup);
      if (leader) store_box(out, here, share.channel, image, 0, h + r);
    }
    pixels_done += lower(work.images - image, T::kImages) * T::kRows * T::kSize;
  }
  if (kRider != Rider::none) {
    if (leader) wait_for_reads_of_stores<0>();
    sync_threads(kBoth, 2 * kGroup);
    const int channels = work.groups * kTileChannels;
    float* const row = sums_of + int64_t{share.first} * (2 * channels + 1);
    const float count = static_cast<float>(pixels_done);
    if (g == 0 && leader && share.channel == 0) *row = count;
    write_sums<kRider>(sums, g, m.sums, kBoth, count, row + 1 + share.channel, channels);
  }
  if (leader) wait_for_stores<0>();
}

// Loads pixels and weights, whichever has room next.
template <typename T, bool kGradient>
__device__ inline void load_all(const Places& m, const CUtensorMap& in, const CUtensorMap& filter, const Work& work) {
  const Share share = share_of(work);
  const int chunks = share.count * work.groups, taps = chunks * kTaps;
  int chunk = 0, stage = 0, turn = 1, tap = 0, slot = 0, slot_turn = 1;
  while (chunk < chunks || tap < taps) {
    if (chunk < chunks && has_ended(m.empty + 8 * stage, turn)) {
      const int tile = share.first + chunk / work.groups * share.step;
      expect_bytes(m.full + 8 * stage, T::kBoxBytes);
      load_box(m.stages + stage * T::kStageBytes, in, m.full + 8 * stage, chunk % work.groups * kTileChannels,
               tile / T::kParts * T::kImages, T::kHasEdges ? 0 : -1, T::kIsWhole ? 0 : tile % T::kParts * T::kRows - 1);
      ++chunk;
      if (++stage == T::kStages) {
        stage = 0;
        turn ^= 1;
      }
    }
    if (tap < taps && has_ended(m.weights_empty + 8 * slot, slot_turn)) {
      const int t = tap_at(tap % kTaps), channel = tap / kTaps % work.groups * kTileChannels;
      const uint32_t to = m.slots + slot * kSlotBytes, barrier = m.weights_full + 8 * slot;
      expect_bytes(barrier, kSlotBytes);
      if (kGradient)
        load_box(to, filter, barrier, share.channel, kTaps - 1 - t, channel);
      else
        load_box(to, filter, barrier, channel, t, share.channel);
      ++tap;
      if (++slot == T::kSlots) {
        slot = 0;
        slot_turn ^= 1;
      }
    }
  }
}

template <typename T, bool kGradient, Rider kRider>
__global__ void __launch_bounds__(kThreads, 1)
    conv2d_wide_kernel(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap filter,
                       const __grid_constant__ CUtensorMap out, const __grid_constant__ CUtensorMap side,
                       const __grid_constant__ CUtensorMap addend, const NormalizedRelu relu, float* sums,
                       const Work work) {
  wait_for_kernels_before();
  extern __shared__ __align__(1024) uint8_t memory[];
  Places m;
  m.stages = shared_address(memory);
  m.outs = m.stages + T::kStages * T::kStageBytes + T::kAfterBytes;
  m.slots = m.outs + 2 * T::kOutRows * T::kOutBytes;
  m.full = m.slots + T::kSlots * kSlotBytes;
  m.empty = m.full + 8 * T::kStages;
  m.weights_full = m.empty + 8 * T::kStages;
  m.weights_empty = m.weights_full + 8 * T::kSlots;
  m.side_full = m.weights_empty + 8 * T::kSlots;
  m.sums = reinterpret_cast<float*>(memory + (m.outs - m.stages));
  const int thread = threadIdx.x;
  const int group = __shfl_sync(0xffffffffu, thread / kGroup, 0);  // known to be the same in a warp
  if (thread == 0) {
    for (int s = 0; s < T::kStages; ++s) {
      init_barrier(m.full + 8 * s, 1);
      init_barrier(m.empty + 8 * s, 8);
    }
    for (int s = 0; s < T::kSlots; ++s) {
      init_barrier(m.weights_full + 8 * s, 1);
      init_barrier(m.weights_empty + 8 * s, 8);
    }
    init_barrier(m.side_full, 1);
    init_barrier(m.side_full + 8, 1);
    publish_barriers();
  }
  if (!T::kHasEdges)  // zeros after the last row of each stage
    for (int i = thread; i < T::kStages * T::kImages * 8; i += kThreads)
      store_shared(m.stages + i / (T::kImages * 8) * T::kStageBytes + T::kBoxBytes + i % (T::kImages * 8) * 16,
                   {0, 0, 0, 0});
  publish_stores();
  __syncthreads();

  if (group == 0) {
    give_registers<kGivenRegisters>();
    if (thread == 0) load_all<T, kGradient>(m, in, filter, work);
    return;
  }
  take_registers<kTakenRegisters>();
  // A block's tiles are the same part of their images, so that padding is known to the compiler.
  constexpr int kSecondRows = T::kRows - T::kFirstRows, kLast = T::kParts - 1;
  const auto run = [&]<int kFirst, int kCount, int kPart>() {
    multiply_and_store<T, kGradient, kRider, kFirst, kCount, kPart>(m, out, side, addend, relu, sums, group - 1, work);
  };
  if (share_of(work).first % T::kParts == 0) {
    if (group == 1)
      run.template operator()<0, T::kFirstRows, 0>();
    else
      run.template operator()<T::kFirstRows, kSecondRows, 0>();
  } else {
    if (group == 1)
      run.template operator()<0, T::kFirstRows, kLast>();
    else
      run.template operator()<T::kFirstRows, kSecondRows, kLast>();
  }
}

int groups_of(const Convolution& v) { return static_cast<int>(v.c) / kTileChannels; }

template <typename T>
int tiles_of(const Convolution& v) {
  return static_cast<int>((v.n + T::kImages - 1) / T::kImages) * T::kParts;
}

// Blocks with the same channels: a multiple of the parts of an image, or one for each tile.
template <typename T>
int blocks_of_channels(const Convolution& v, int multiprocessors) {
  return std::min(tiles_of<T>(v), std::max(multiprocessors / groups_of(v) / T::kParts, 1) * T::kParts);
}

template <typename T, bool kGradient, Rider kRider>
void launch_wide(const Convolution& v, const void* in, const void* weights, void* out, const NormalizedRelu& relu,
                 float* sums, int rows_of_sums, cudaStream_t stream) {
  const auto image = [&](const void* address, int64_t columns, int64_t rows) {
    return map_of_positions(address, v.n, T::kSize, v.c, {T::kImages, columns, rows});
  };
  launch(conv2d_wide_kernel<T, kGradient, kRider>, {rows_of_sums * groups_of(v), kThreads, T::kSharedBytes}, stream,
         image(in, T::kPitch, T::kLoadedRows), map_of_filter(weights, v.k, v.c), image(out, T::kSize, 1),
         needs_x(kRider) ? image(relu.x, T::kSize, 1) : CUtensorMap{},
         kRider == Rider::masked_sums ? image(relu.addend, T::kSize, 1) : CUtensorMap{}, relu, sums,
         Work{groups_of(v), static_cast<int>(v.n), tiles_of<T>(v)});
}

// Calls run.operator()<T>() with the tile for this convolution. With `is_small` registers are
// short.
template <typename Run>
auto with_tile(const Convolution& v, int multiprocessors, bool is_small, Run&& run) {
  const auto is = [&](int64_t channels, int64_t size) { return v.c == channels && v.x_size[0] == size; };
  if (is(128, 14) || is(256, 14)) return run.template operator()<Tile<14, 4, 7, 4, false, 2, 4>>();
  if (is(256, 7) || is(512, 7)) return run.template operator()<Tile<7, 8, 7, 4, false, 2, 4>>();
  if (!is(512, 4))
    throw Error(Status::internal, text("conv2d_wide has no kernel for ", v.c, " channels of ", v.x_size[0]));
  // Tiles of 32 images read the weights less often, if there are enough for most multiprocessors.
  if (!is_small && (v.n + 31) / 32 * (512 / kTileChannels) >= multiprocessors * 3 / 4)
    return run.template operator()<Tile<4, 32, 4, 2, true, 2, 2>>();
  return run.template operator()<Tile<4, 16, 4, 2, true, 3, 2>>();
}

}  // namespace

bool takes_conv2d_wide(const Convolution& v) {
  const int64_t c = v.c, size = v.x_size[0];
  return size == 14 ? c == 128 || c == 256 : size == 7 ? c == 256 || c == 512 : size == 4 && c == 512;
}

int rows_of_sums_wide(const Convolution& v, int multiprocessors) {
  return with_tile(v, multiprocessors, false, [&]<typename T>() { return blocks_of_channels<T>(v, multiprocessors); });
}

void conv2d_wide(const Convolution& v, const void* x, const void* weights, void* y, float* moments, int multiprocessors,
                 cudaStream_t stream) {
  const int rows = rows_of_sums_wide(v, multiprocessors);
  with_tile(v, multiprocessors, false, [&]<typename T>() {
    (moments ? launch_wide<T, false, Rider::moments> : launch_wide<T, false, Rider::none>)(v, x, weights, y, {},
                                                                                           moments, rows, stream);
  });
}

void conv2d_wide_input_gradient(const Convolution& v, const void* weights, const void* dy, void* dx,
                                const NormalizedRelu& relu, float* sums, int multiprocessors, cudaStream_t stream) {
  const int rows = rows_of_sums_wide(v, multiprocessors);
  if (relu.mask)
    with_tile(v, multiprocessors, true, [&]<typename T>() {
      if constexpr (T::kImages <= kMostImages)
        launch_wide<T, true, Rider::masked_sums>(v, dy, weights, dx, relu, sums, rows, stream);
    });
  else
    with_tile(v, multiprocessors, false, [&]<typename T>() {
      (sums ? launch_wide<T, true, Rider::relu_sums> : launch_wide<T, true, Rider::none>)(v, dy, weights, dx, relu,
                                                                                          sums, rows, stream);
    });
}

}  // namespace troika::cuda::hopper
