// The weights' gradient of conv2d with a filter of 1x1, stride 1 or 2, on Hopper.
//
// dweights [k, c] = the sum over pixels of dy [pixel, k] times x [pixel, c]: in a product, the
// pixel is the axis that is summed over, which is the slow axis of both operands in shared memory.
// A tile is 64 pixels. With stride 2 a tile is whole rows or images, and zeros after them.
//
// A block has 64 or 128 output channels, up to 256 input channels, and a share of the tiles. Blocks
// with other channels of the same tiles run at the same time, so that memory is read about once.
// Warp 0 loads. Two groups of four warps each multiply by 64 output channels. If the block has only
// 64, each group takes half of the pixels of a tile. Sums stay in registers.
//
// Blocks with the same channels add up their sums when all have written them, each a share, in the
// order of blocks and groups.
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/hopper/conv2d_1x1_tiles.h"
#include "backends/cuda/hopper/conv2d_kernels.h"
#include "backends/cuda/hopper/instructions.cuh"
#include "backends/cuda/hopper/packs.cuh"

namespace troika::cuda::hopper {
namespace {

constexpr int kPixels = 64;  // of a tile, at most
constexpr int kBoxBytes = kPixels * kRowBytes;
constexpr int kDepth = 16, kSlices = kPixels / kDepth;  // pixels of a product; products of a tile
constexpr int kMultiplying = 2 * kGroup, kThreads = kGroup + kMultiplying, kWarps = kMultiplying / 32;
constexpr int kMostStages = 8, kBarrierBytes = 512;
constexpr int kGivenRegisters = 72, kTakenRegisters = 216;
constexpr int kMultiplyingThreads = 1;  // the number of their barrier

// A block has kKs times 64 output channels and kCs times 64 input channels.
template <int kKs_, int kCs_>
struct Form {
  static constexpr int kKs = kKs_, kCs = kCs_;
  static constexpr int kColumns = kCs * kTileChannels;  // of a product
  static constexpr int kNumbers = kColumns / 2;         // a thread's sums
  static constexpr int kPacks = kNumbers / 4;           // of four, of a thread
  static constexpr int kPartial = kGroup * kPacks;      // packs of a group
  static constexpr int kHalves = kKs == 1 ? 2 : 1;      // groups that add up to the same sums
  static constexpr int kStageBytes = (kKs + kCs) * kBoxBytes;
  static constexpr int kStages = std::min((kMostSharedBytes - kBarrierBytes) / kStageBytes, kMostStages);
  static constexpr int kSharedBytes = kStages * kStageBytes + kBarrierBytes;
  static_assert(2 * kStages * sizeof(uint64_t) <= kBarrierBytes);
};

struct Work {
  int k, c, tile_pixels, tile_rows, tile_images, tiles;
};

// A block's channels, its place among the blocks with the same ones, and its tiles [first, end).
struct Share {
  int k, c, part, parts, first, end;
};

template <typename F>
__device__ inline int pairs_of(const Work& work) {
  return work.k / (F::kKs * kTileChannels) * (work.c / F::kColumns);
}

template <typename F>
__device__ inline Share share_of(const Work& work) {
  const int pairs = pairs_of<F>(work), pair = blockIdx.x % pairs, columns = work.c / F::kColumns;
  Share s;
  s.k = pair / columns * F::kKs * kTileChannels;
  s.c = pair % columns * F::kColumns;
  s.part = blockIdx.x / pairs;
  s.parts = gridDim.x / pairs;
  s.first = static_cast<int>(int64_t{work.tiles} * s.part / s.parts);
  s.end = static_cast<int>(int64_t{work.tiles} * (s.part + 1) / s.parts);
  return s;
}

template <typename F>
__device__ inline void load_all(uint32_t stages, uint32_t full, uint32_t empty, const CUtensorMap& x,
                                const CUtensorMap& dy, const Share& share, const Work& work) {
  for (int tile = share.first; tile < share.end; ++tile) {
    const int number = tile - share.first, s = number % F::kStages;
    const uint32_t stage = stages + s * F::kStageBytes, barrier = full + 8 * s;
    wait(empty + 8 * s, number / F::kStages % 2 ^ 1);
    expect_bytes(barrier, (F::kKs + F::kCs) * work.tile_pixels * kRowBytes);
#pragma unroll
    for (int i = 0; i < F::kKs; ++i)
      load_box(stage + i * kBoxBytes, dy, barrier, share.k + i * kTileChannels, 0, tile * work.tile_pixels, 0);
#pragma unroll
    for (int i = 0; i < F::kCs; ++i)
      load_box(stage + (F::kKs + i) * kBoxBytes, x, barrier, share.c + i * kTileChannels, 0, tile * work.tile_rows,
               tile * work.tile_images);
  }
}

// Group g of the two.
template <typename F>
__device__ inline void multiply_all(float (&d)[F::kNumbers], uint32_t stages, uint32_t full, uint32_t empty, int g,
                                    const Share& share) {
  constexpr int kOwnSlices = kSlices / F::kHalves;
  const uint32_t own_dy = F::kHalves == 1 ? g * kBoxBytes : g * kOwnSlices * kDepth * kRowBytes;
  const uint32_t own_x = F::kKs * kBoxBytes + (F::kHalves == 1 ? 0 : g * kOwnSlices * kDepth * kRowBytes);
  int used = 0;
  for (int tile = share.first; tile < share.end; ++tile) {
    const int number = tile - share.first, s = number % F::kStages;
    wait(full + 8 * s, number / F::kStages % 2);
    const uint64_t dy = describe(stages + s * F::kStageBytes + own_dy);
    const uint64_t x = describe(stages + s * F::kStageBytes + own_x, kBoxBytes);
    begin_products();
#pragma unroll
    for (int k = 0; k < kOwnSlices; ++k) {
      const uint64_t moved = moved_by(k * kDepth * kRowBytes);
      wgmma_transposed(Columns<F::kColumns>(), d, dy + moved, x + moved);
    }
    end_products();
    wait_for_products<1>();  // the tile before is done: its stage is handed back
    if (threadIdx.x % 32 == 0 && number > 0) arrive(empty + 8 * used);
    used = s;
  }
  wait_for_products<0>();
}

// Writes pack j of a thread whose place in its group is `owner`: two rows of dweights from k on, 8
// apart, and two columns of each.
__device__ inline void write_pack(float* dweights, int k, int c, int channels, int j, int owner, const float4& pack) {
  const int lane = owner % 32, row = k + owner / 32 * 16 + lane / 4, column = c + j * 8 + lane % 4 * 2;
  store_pack(dweights + int64_t{row} * channels + column, channels, pack);
}

// Adds up this block's share of the packs of all blocks with the same channels.
template <typename F>
__device__ inline void add_share(const float4* partials, float* dweights, const Share& share, const Work& work) {
  constexpr int kAtOnce = 16, kAll = F::kKs * F::kPartial;
  const int pairs = pairs_of<F>(work), terms = share.parts * F::kHalves;
  const int first = kAll * share.part / share.parts, end = kAll * (share.part + 1) / share.parts;
  for (int pack = first + static_cast<int>(threadIdx.x) - kGroup; pack < end; pack += kMultiplying) {
    const int box = pack / F::kPartial, own = pack % F::kPartial;
    float4 sum = {0, 0, 0, 0};
    for (int begin = 0; begin < terms; begin += kAtOnce) {
      float4 loaded[kAtOnce];  // together, so that one waits for all
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int term = begin + i, part = term / F::kHalves, group = F::kHalves == 1 ? box : term % F::kHalves;
        const int block = part * pairs + static_cast<int>(blockIdx.x) % pairs;
        loaded[i] =
            term < terms ? __ldcg(partials + (int64_t{block} * 2 + group) * F::kPartial + own) : float4{0, 0, 0, 0};
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) add_to(sum, loaded[i]);
    }
    write_pack(dweights, share.k + box * kTileChannels, share.c, work.c, own / kGroup, own % kGroup, sum);
  }
}

template <typename F>
__global__ void __launch_bounds__(kThreads, 1)
    conv2d_1x1_weight_gradient_kernel(const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap dy,
                                      float4* partials, float* dweights, unsigned* turns, const Work work) {
  wait_for_kernels_before();
  extern __shared__ __align__(1024) uint8_t memory[];
  const uint32_t stages = shared_address(memory), full = stages + F::kStages * F::kStageBytes;
  const uint32_t empty = full + 8 * F::kStages;
  const Share share = share_of<F>(work);
  const int thread = threadIdx.x;
  const int group = __shfl_sync(0xffffffffu, thread / kGroup, 0);  // known to be the same in a warp
  if (thread == 0) {
    for (int s = 0; s < F::kStages; ++s) {
      init_barrier(full + 8 * s, 1);
      init_barrier(empty + 8 * s, kWarps);
    }
    publish_barriers();
  }
  const int packs = (kPixels - work.tile_pixels) * (kRowBytes / 16);  // after the pixels of a box
  for (int box = 0; box < F::kStages * (F::kKs + F::kCs); ++box)
    for (int i = thread; i < packs; i += kThreads)
      store_shared(stages + box * kBoxBytes + work.tile_pixels * kRowBytes + i * 16, {0, 0, 0, 0});
  publish_stores();
  __syncthreads();

  if (group == 0) {
    give_registers<kGivenRegisters>();
    if (thread == 0) load_all<F>(stages, full, empty, x, dy, share, work);
    return;
  }
  take_registers<kTakenRegisters>();
  const int g = group - 1, own_thread = thread % kGroup;
  float d[F::kNumbers];
#pragma unroll
  for (int j = 0; j < F::kNumbers; ++j) d[j] = 0;
  multiply_all<F>(d, stages, full, empty, g, share);
  if (share.parts == 1 && F::kHalves == 1) {
#pragma unroll
    for (int j = 0; j < F::kPacks; ++j)
      write_pack(dweights, share.k + g * kTileChannels, share.c, work.c, j, own_thread, pack_of(d, j));
    return;
  }
  float4* const own = partials + (int64_t{blockIdx.x} * 2 + g) * F::kPartial + own_thread;
#pragma unroll
  for (int j = 0; j < F::kPacks; ++j) __stcg(own + j * kGroup, pack_of(d, j));
  sync_threads(kMultiplyingThreads, kMultiplying);
  if (share.parts > 1) {
    if (thread == kGroup) wait_for_blocks(turns);
    sync_threads(kMultiplyingThreads, kMultiplying);
  }
  add_share<F>(partials, dweights, share, work);
}

// Calls run.operator()<F>() with the form for this convolution.
template <typename Run>
auto with_form(const Convolution& v, Run&& run) {
  const auto with_outputs = [&]<int kCs>() {
    return v.k % (2 * kTileChannels) == 0 ? run.template operator()<Form<2, kCs>>()
                                          : run.template operator()<Form<1, kCs>>();
  };
  if (v.c % (4 * kTileChannels) == 0) return with_outputs.template operator()<4>();
  if (v.c % (2 * kTileChannels) == 0) return with_outputs.template operator()<2>();
  return with_outputs.template operator()<1>();
}

PixelTile tile_of(const Convolution& v) { return pixel_tile(v, kPixels); }

int tiles_of(const Convolution& v) {
  const int64_t pixels = tile_of(v).pixels;
  return static_cast<int>((v.pixels() + pixels - 1) / pixels);
}

template <typename F>
int pairs_of(const Convolution& v) {
  return static_cast<int>(v.k / (F::kKs * kTileChannels) * (v.c / F::kColumns));
}

// Blocks with the same channels, of a launch whose blocks all run at once; one if there are too few
// multiprocessors for that.
template <typename F>
int parts_of(const Convolution& v, int multiprocessors) {
  return std::max(1, std::min(tiles_of(v), multiprocessors / pairs_of<F>(v)));
}

}  // namespace

bool takes_conv2d_1x1_weight_gradient(const Convolution& v) { return is_plain_1x1(v) && tile_of(v).pixels > 0; }

size_t conv2d_1x1_weight_gradient_scratch_bytes(const Convolution& v, int multiprocessors) {
  return with_form(v, [&]<typename F>() {
    const int parts = parts_of<F>(v, multiprocessors);
    return static_cast<size_t>(v.weight_elements()) * sizeof(float) * static_cast<size_t>(parts * F::kHalves);
  });
}

void conv2d_1x1_weight_gradient(const Convolution& v, const void* x, const void* dy, float* dweights, void* scratch,
                                unsigned* turns, int multiprocessors, cudaStream_t stream) {
  const PixelTile tile = tile_of(v);
  const Work work = {.k = static_cast<int>(v.k),
                     .c = static_cast<int>(v.c),
                     .tile_pixels = static_cast<int>(tile.pixels),
                     .tile_rows = static_cast<int>(tile.rows),
                     .tile_images = static_cast<int>(tile.images),
                     .tiles = tiles_of(v)};
  with_form(v, [&]<typename F>() {
    const int parts = parts_of<F>(v, multiprocessors);
    launch(conv2d_1x1_weight_gradient_kernel<F>,
           {.blocks = parts * pairs_of<F>(v),
            .threads = kThreads,
            .shared_bytes = F::kSharedBytes,
            .is_cooperative = parts > 1},
           stream, map_of_x(x, v, tile), map_of_pixels(dy, v, v.k, tile.pixels), static_cast<float4*>(scratch),
           dweights, turns, work);
  });
}

}  // namespace troika::cuda::hopper
