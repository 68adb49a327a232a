// The weights' gradient of conv2d of 64 channels to 64: 3x3, stride 1, padding 1, on Hopper.
//
// dweights [64, tap, 64] = the sum over pixels of dy [pixel, 64] times x [pixel + tap, 64]: in a
// product, the pixel is the axis that is summed over, which is the slow axis of both operands in
// shared memory. A tile is kRows rows of one image, with one column more as in conv2d_64.cu: in dy
// the column is outside of the image, and so zero.
//
// One block per multiprocessor. Three groups of four warps multiply, each the three taps of a
// column of the filter: the rows of the filter are 64 columns of the product each, kPitch pixels
// apart. Their sums stay in registers over all tiles of the block. One warp loads. When all blocks
// have written their sums, each adds up its share of them, in the order of blocks.
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/hopper/conv2d_kernels.h"
#include "backends/cuda/hopper/conv2d_tiles.h"
#include "backends/cuda/hopper/instructions.cuh"
#include "backends/cuda/hopper/normalized_input.cuh"
#include "backends/cuda/hopper/packs.cuh"
#include "core/text.h"

namespace troika::cuda::hopper {
namespace {

constexpr int kChannels = kTileChannels, kMultiplying = 3 * kGroup, kThreads = 4 * kGroup;
constexpr int kColumns = 3 * kChannels;          // of a product
constexpr int kNumbers = kColumns / 2;           // a thread's sums
constexpr int kPacks = kNumbers / 4;             // of four, of a thread
constexpr int kPartial = kMultiplying * kPacks;  // packs of a block: all of dweights
constexpr int kLoading = 3;                      // the group
constexpr int kGivenRegisters = 32, kTakenRegisters = 160;
constexpr int kBarrierBytes = 128;
constexpr int kDepth = 16;  // pixels of a product
static_assert(kPartial * 4 == kChannels * kTaps * kChannels);

template <int kSize_, int kRows_, int kStages_>
struct Tile {
  static constexpr int kSize = kSize_, kRows = kRows_, kStages = kStages_;
  static constexpr int kPitch = kSize + 1, kTilesEach = kSize / kRows;  // of an image
  static constexpr int kLoadedDy = kRows * kPitch, kLoadedX = (kRows + 2) * kPitch;
  // The pixels after the loaded ones are zero.
  static constexpr int kDyPixels = round_up(kLoadedDy, kDepth), kXPixels = round_up(kDyPixels + 2 * kPitch + 2, 8);
  static constexpr int kDyBytes = kDyPixels * kRowBytes, kStageBytes = kDyBytes + kXPixels * kRowBytes;
  static constexpr int kSharedBytes =
      kSwizzledBytes + kStages * kStageBytes + kBarrierBytes + NormalizedInput::kTableBytes;
  static_assert(kSize % kRows == 0 && kDyBytes % kSwizzledBytes == 0 && kStageBytes % kSwizzledBytes == 0);
};

constexpr int kMultiplyingThreads = 1;  // the number of their barrier

// Adds up the partial sums of all blocks for this block's share of dweights.
__device__ inline void add_share(const float4* partials, float* dweights, float4* shared) {
  constexpr int kAtOnce = 27, kParts = 5, kWidth = kMultiplying / kParts;  // threads that share a pack; packs at once
  const int blocks = gridDim.x, share = (kPartial + blocks - 1) / blocks;
  const int column = threadIdx.x % kWidth, part = threadIdx.x / kWidth;
  for (int begin = 0; begin < share; begin += kWidth) {
    const int pack = blockIdx.x * share + begin + column;
    const bool is_mine = part < kParts && begin + column < share && pack < kPartial;
    float4 sum = {0, 0, 0, 0};
    if (is_mine) {
      for (int block = part; block < blocks; block += kAtOnce * kParts) {
        float4 loaded[kAtOnce];  // together, so that one waits for all
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          const int next = block + i * kParts;
          loaded[i] = next < blocks ? __ldcg(partials + int64_t{next} * kPartial + pack) : float4{0, 0, 0, 0};
        }
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) add_to(sum, loaded[i]);
      }
      shared[threadIdx.x] = sum;
    }
    sync_threads(kMultiplyingThreads, kMultiplying);
    if (is_mine && part == 0) {
#pragma unroll
      for (int i = 1; i < kParts; ++i) add_to(sum, shared[i * kWidth + column]);
      const int j = pack / kMultiplying, owner = pack % kMultiplying, lane = owner % 32;
      const int row = owner % kGroup / 32 * 16 + lane / 4;
      const int tap = j / 8 * 3 + owner / kGroup, channel = j % 8 * 8 + lane % 4 * 2;
      store_pack(dweights + (row * kTaps + tap) * kChannels + channel, kTaps * kChannels, sum);
    }
    sync_threads(kMultiplyingThreads, kMultiplying);
  }
}

template <typename T, bool kNormalizes>
__global__ void __launch_bounds__(kThreads, 1)
    conv2d_64_weight_gradient_kernel(const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap dy,
                                     const NormalizedRelu norm_of, float4* partials, float* dweights, unsigned* turns,
                                     int tiles) {
  wait_for_kernels_before();
  extern __shared__ uint8_t memory[];
  const uint32_t stages = (shared_address(memory) + kSwizzledBytes - 1) / kSwizzledBytes * kSwizzledBytes;
  const uint32_t full = stages + T::kStages * T::kStageBytes, empty = full + 8 * T::kStages;
  const uint32_t ready = empty + 8 * T::kStages;  // stages whose x is normalised
  const uint32_t table = full + kBarrierBytes;
  const int thread = threadIdx.x, lane = thread % 32;
  const int group = __shfl_sync(0xffffffffu, thread / kGroup, 0);  // known to be the same in a warp
  if (thread == 0) {
    for (int s = 0; s < T::kStages; ++s) {
      init_barrier(full + 8 * s, 1);
      init_barrier(empty + 8 * s, kMultiplying / 32);
      init_barrier(ready + 8 * s, kMultiplying / 32);
    }
    publish_barriers();
  }
  const auto clear = [&](uint32_t from, int pixels) {
    for (int i = thread; i < pixels * 8; i += kThreads) store_shared(from + i * 16, {0, 0, 0, 0});
  };
  for (int s = 0; s < T::kStages; ++s) {
    const uint32_t stage = stages + s * T::kStageBytes;
    clear(stage + T::kLoadedDy * kRowBytes, T::kDyPixels - T::kLoadedDy);
    clear(stage + T::kDyBytes + T::kLoadedX * kRowBytes, T::kXPixels - T::kLoadedX);
  }
  if constexpr (kNormalizes) NormalizedInput::store_table(table, norm_of);
  publish_stores();
  __syncthreads();

  const int first = blockIdx.x, step = gridDim.x, count = (tiles - first + step - 1) / step;
  if (group == kLoading) {
    give_registers<kGivenRegisters>();
    if (thread == kMultiplying)
      for (int i = 0; i < count; ++i) {
        const int s = i % T::kStages, tile = first + i * step;
        const int image = tile / T::kTilesEach, h = tile % T::kTilesEach * T::kRows;
        const uint32_t stage = stages + s * T::kStageBytes;
        wait(empty + 8 * s, i / T::kStages % 2 ^ 1);
        expect_bytes(full + 8 * s, (T::kLoadedDy + T::kLoadedX) * kRowBytes);
        load_box(stage, dy, full + 8 * s, 0, 0, h, image);
        load_box(stage + T::kDyBytes, x, full + 8 * s, 0, -1, h - 1, image);
      }
    return;
  }
  take_registers<kTakenRegisters>();
  float d[kNumbers];
#pragma unroll
  for (int j = 0; j < kNumbers; ++j) d[j] = 0;
  NormalizedInput norm;
  constexpr int kStep = kMultiplying / NormalizedInput::kChunks;
  // Waits for a tile, and normalises this thread's pixels of x.
  const auto normalize = [&](int i) {
    const int s = i % T::kStages, h = (first + i * step) % T::kTilesEach * T::kRows;
    wait(full + 8 * s, i / T::kStages % 2);
    norm.apply<T::kSize, T::kPitch, T::kLoadedX, kStep>(stages + s * T::kStageBytes + T::kDyBytes, thread, h - 1);
    publish_stores();
    __syncwarp();
    if (lane == 0) arrive(ready + 8 * s);
  };
  if constexpr (kNormalizes) {
    norm.load(table);
    normalize(0);
  }
  // The next tile is normalised while this one is multiplied. With two stages it waits: this one's
  // stage must be free first, so that the copy of the tile after next goes on meanwhile.
  constexpr bool kWaitsForTile = kNormalizes && T::kStages == 2;
  for (int i = 0; i < count; ++i) {
    const int s = i % T::kStages;
    const uint32_t stage = stages + s * T::kStageBytes;
    const uint64_t dy_pixels = describe(stage, kSwizzledBytes);
    const uint64_t x_pixels = describe(stage + T::kDyBytes + group * kRowBytes, T::kPitch * kRowBytes);
    wait((kNormalizes ? ready : full) + 8 * s, i / T::kStages % 2);
    begin_products();
    wgmma_transposed(Columns<kColumns>(), d, dy_pixels, x_pixels);
    end_products();
    wait_for_products<1>();  // the tile before is done: its stage is handed back early
    if (lane == 0 && i > 0 && !kWaitsForTile) arrive(empty + 8 * ((i - 1) % T::kStages));
#pragma unroll
    for (int k = 1; k < T::kDyPixels / kDepth; ++k) {
      const uint64_t moved = moved_by(k * kDepth * kRowBytes);
      wgmma_transposed(Columns<kColumns>(), d, dy_pixels + moved, x_pixels + moved);
    }
    end_products();
    if constexpr (kWaitsForTile) {
      wait_for_products<0>();
      if (lane == 0) arrive(empty + 8 * s);
    }
    if constexpr (kNormalizes)
      if (i + 1 < count) normalize(i + 1);
  }
  wait_for_products<0>();
  float4* const own = partials + int64_t{blockIdx.x} * kPartial + thread;
#pragma unroll
  for (int j = 0; j < kPacks; ++j)
    __stcg(own + j * kMultiplying, float4{d[4 * j], d[4 * j + 1], d[4 * j + 2], d[4 * j + 3]});
  sync_threads(kMultiplyingThreads, kMultiplying);
  if (thread == 0) wait_for_blocks(turns);
  sync_threads(kMultiplyingThreads, kMultiplying);
  add_share(partials, dweights, reinterpret_cast<float4*>(memory));
}

int blocks_of(int tiles, int multiprocessors) { return std::min(tiles, multiprocessors); }

template <typename T>
void launch_weight_gradient(const Convolution& v, const void* x, const NormalizedRelu& norm, const void* dy,
                            float* dweights, void* scratch, unsigned* turns, int multiprocessors, cudaStream_t stream) {
  const auto image = [&](const void* address, int64_t rows) {
    return map_of_images(address, v.n, T::kSize, T::kPitch, rows);
  };
  const int tiles = static_cast<int>(v.n) * T::kTilesEach;
  launch(norm.mean ? conv2d_64_weight_gradient_kernel<T, true> : conv2d_64_weight_gradient_kernel<T, false>,
         {.blocks = blocks_of(tiles, multiprocessors),
          .threads = kThreads,
          .shared_bytes = T::kSharedBytes,
          .is_cooperative = true},
         stream, image(x, T::kRows + 2), image(dy, T::kRows), norm, static_cast<float4*>(scratch), dweights, turns,
         tiles);
}

}  // namespace

size_t conv2d_64_weight_gradient_scratch_bytes(const Convolution&, int multiprocessors) {
  return static_cast<size_t>(multiprocessors) * kPartial * sizeof(float4);
}

void conv2d_64_weight_gradient(const Convolution& v, const void* x, const NormalizedRelu& norm, const void* dy,
                               float* dweights, void* scratch, unsigned* turns, int multiprocessors,
                               cudaStream_t stream) {
  const auto run = [&]<typename T>() {
    launch_weight_gradient<T>(v, x, norm, dy, dweights, scratch, turns, multiprocessors, stream);
  };
  switch (v.x_size[0]) {
    case 28: return run.operator()<Tile<28, 7, 3>>();
    case 32: return run.operator()<Tile<32, 8, 2>>();
    case 56: return run.operator()<Tile<56, 4, 2>>();
    default: throw Error(Status::internal, text("conv2d_64_weight_gradient has no kernel for images of ", v.x_size[0]));
  }
}

}  // namespace troika::cuda::hopper
