// The weights' gradient of conv2d of 128 channels and more on small images: 3x3, stride 1, padding
// 1, on Hopper.
//
// dweights [k, tap, c] = the sum over pixels of dy [pixel, k] times x [pixel + tap, c]. Images are
// the fastest axis in shared memory, as in conv2d_wide.cu: [column][kImages][64 channels], a row of
// positions at a time. A product sums over the kImages images of one position, and a tap is another
// position of x. So a tap outside of the image is left out, and no product is computed for nothing:
// 91 % of them remain at 14x14, 82 % at 7x7, 69 % at 4x4.
//
// A block has 64 output channels k, 64 input channels c, and a share of the rows. Three groups of
// four warps each multiply by a row of the filter. Their sums, 3 x [64, 64], stay in registers. A
// position of dy is loaded as a fragment two positions before its use, and serves three taps. One
// warp loads: each row of x and dy once, into two rings.
//
// A row of dy has (3 size - 2) products per group, of 32 cycles each. At batch 1024 (128 channels
// at 14x14, 256 at 7x7, 512 at 4x4) a multiprocessor multiplies for 102,400, 92,400 and 102,400
// cycles. Through the L2 cache go 212, 206 and 268 MB: 16, 17 and 21 bytes per cycle and
// multiprocessor, at 1.5 GHz 3.1 to 3.9 TB/s. The most that has been measured is 4.7 to 5.1 TB/s.
// Fewer taps and more channels per block would load more. Reads of shared memory by products and
// fragments, and copies to it, take 80 to 86 % of its 128 bytes per cycle.
//
// Blocks with the same channels add up their sums when all have written them, each a share, in the
// order of blocks. If there are two, each writes the half that the other adds.
#include <utility>

#include "backends/cuda/early_start.cuh"
#include "backends/cuda/hopper/conv2d_kernels.h"
#include "backends/cuda/hopper/conv2d_tiles.h"
#include "backends/cuda/hopper/instructions.cuh"
#include "backends/cuda/hopper/packs.cuh"
#include "core/text.h"

namespace troika::cuda::hopper {
namespace {

constexpr int kFilterRows = 3, kFilterColumns = 3;
constexpr int kImages = 16;  // of a tile: the depth of a product
constexpr int kPositionBytes = kImages * kRowBytes;
constexpr int kMultiplying = kFilterRows * kGroup, kThreads = kMultiplying + kGroup;
constexpr int kLoading = kFilterRows;                   // the group
constexpr int kTapNumbers = kTileChannels / 2;          // a thread's sums of a tap
constexpr int kNumbers = kFilterColumns * kTapNumbers;  // a thread's sums
constexpr int kPacks = kNumbers / 4;                    // of four, of a thread
constexpr int kPartial = kMultiplying * kPacks;         // packs of a block
constexpr int kBarrierBytes = 512;
constexpr int kGivenRegisters = 32, kTakenRegisters = 160;
constexpr int kMultiplyingThreads = 1;  // the number of their barrier
static_assert(kPartial * 4 == kTileChannels * kTaps * kTileChannels);

template <int kChannels_, int kSize_>
struct Tile {
  static constexpr int kChannels = kChannels_, kSize = kSize_;
  static constexpr int kGroups = kChannels / kTileChannels;  // of output channels, and of input channels
  static constexpr int kPairs = kGroups * kGroups;           // of the one and the other
  static constexpr int kLineBytes = kSize * kPositionBytes;  // a row of positions
  // Three rows of x are read at once, and a fourth is handed back late. One row of dy is read.
  static constexpr int kSlots = (kMostSharedBytes - kBarrierBytes) / kLineBytes;
  static constexpr int kXSlots = kSlots / 2 + 1, kDySlots = kSlots - kXSlots;
  static constexpr int kSharedBytes = kSlots * kLineBytes + kBarrierBytes;
  // Fragments of this many positions are in registers: those of a row begin at the first.
  static constexpr int kFragments = kSize % 7 == 0 ? 7 : 4;
  // Loads at once when sums are added up: on 132 multiprocessors, 33 or 8 blocks have the same
  // channels, and a thread adds up one pack or three.
  static constexpr int kBlocksAtOnce = kPairs == 4 ? 17 : 8, kPacksAtOnce = kPairs == 4 ? 1 : 3;
  static_assert(kXSlots >= 5 && kDySlots >= 3 && kLineBytes % kSwizzledBytes == 0 && kSlots * 16 <= kBarrierBytes);
  static_assert(kSize % kFragments == 0 && kFragments >= 4);
};

// Slots for rows of positions, which are loaded in order. Row `first` has slot 0.
template <int kSlots, int kLineBytes>
struct Ring {
  uint32_t slots, full, empty;  // `full` and `empty`: the first of kSlots barriers each
  int first;

  __device__ int slot_of(int row) const { return (row - first) % kSlots; }
  __device__ int turn_of(int row) const { return (row - first) / kSlots % 2; }
  __device__ uint32_t line(int row) const { return slots + slot_of(row) * kLineBytes; }
  __device__ uint32_t full_of(int row) const { return full + 8 * slot_of(row); }
  __device__ uint32_t empty_of(int row) const { return empty + 8 * slot_of(row); }
  __device__ void wait_until_full(int row) const { wait(full_of(row), turn_of(row)); }
  __device__ bool has_room(int row) const { return has_ended(empty_of(row), turn_of(row) ^ 1); }
  // Hands back the rows from `left` to before `end`. All lanes of a warp call this.
  __device__ void hand_back(int& left, int end) const {
#pragma unroll 1
    for (; left < end; ++left)
      if (threadIdx.x % 32 == 0) arrive(empty_of(left));
  }
  __device__ void init_barriers() const {
    for (int i = 0; i < kSlots; ++i) {
      init_barrier(full + 8 * i, 1);
      init_barrier(empty + 8 * i, kMultiplying / 32);
    }
  }
};

// A block's channels, and its rows of dy [first, end): rows of all tiles are counted on.
struct Share {
  int k, c, part, first, end;
};

template <typename T>
__device__ inline Share share_of(int rows) {
  const int pair = blockIdx.x % T::kPairs, parts = gridDim.x / T::kPairs;
  Share s;
  s.k = pair / T::kGroups * kTileChannels;
  s.c = pair % T::kGroups * kTileChannels;
  s.part = blockIdx.x / T::kPairs;
  s.first = static_cast<int>(int64_t{rows} * s.part / parts);
  s.end = static_cast<int>(int64_t{rows} * (s.part + 1) / parts);
  return s;
}

// Loads rows of x and of dy, whichever has room next. x has a row more on each side, if it is of
// the same image.
template <typename T, typename XRing, typename DyRing>
__device__ inline void load_all(const Share& share, const XRing& xs, const DyRing& dys, const CUtensorMap& x,
                                const CUtensorMap& dy) {
  const auto load = [](const auto& ring, const CUtensorMap& map, int row, int channel) {
    expect_bytes(ring.full_of(row), T::kLineBytes);
    load_box(ring.line(row), map, ring.full_of(row), channel, row / T::kSize * kImages, 0, row % T::kSize);
  };
  const int x_end = share.end + (share.end % T::kSize != 0);
  int x_row = xs.first, dy_row = dys.first;
  while (x_row < x_end || dy_row < share.end) {
    if (x_row < x_end && xs.has_room(x_row)) load(xs, x, x_row++, share.c);
    if (dy_row < share.end && dys.has_room(dy_row)) load(dys, dy, dy_row++, share.k);
  }
}

// Adds the products of a row of the filter to d: of each column of the filter, kTapNumbers.
template <typename T, typename XRing, typename DyRing>
__device__ inline void multiply_all(float (&d)[kNumbers], const Share& share, const XRing& xs, const DyRing& dys,
                                    int filter_row) {
  const int lane = threadIdx.x % 32, w = threadIdx.x / 32 % 4;
  // The next row of dy whose row of x is in the image.
  const auto next_after = [&](int row) {
    const int next = row + 1, x_line = next % T::kSize + filter_row - 1;
    return x_line >= 0 && x_line < T::kSize ? next : next + 1;
  };
  // This lane's row of the four matrices of a fragment, in a position.
  const int near = lane / 8 % 2, far = lane / 16, image = lane % 8;
  const uint32_t fragment_row = (far * 8 + image) * kRowBytes + ((w * 2 + near) ^ image) * 16;
  uint32_t fragments[T::kFragments][4];
  int x_left = xs.first, dy_left = dys.first;  // the first rows that are not handed back
  int row = next_after(share.first - 1);
  uint32_t line = dys.line(row) + fragment_row;
  if (row < share.end) {
    dys.wait_until_full(row);
    load_matrices<true>(fragments[0], line);
    load_matrices<true>(fragments[1], line + kPositionBytes);
  }
  while (row < share.end) {
    const int next = next_after(row), x_row = row + filter_row - 1;
    uint32_t next_line = 0;
    xs.wait_until_full(x_row);
    const uint64_t pixels = describe(xs.line(x_row));
    // While a position is multiplied, the one after the next is loaded into registers that no
    // product reads any more. Products have the same results in every call: otherwise the compiler
    // waits for each.
    const auto multiply = [&]<int kAt>() {
      const auto& a = fragments[kAt % T::kFragments];
      const uint64_t here = pixels + moved_by(kAt * kPositionBytes);
      begin_products();
      if constexpr (kAt > 0) wgmma_transposed<0>(Columns<kTileChannels>(), d, a, here - moved_by(kPositionBytes));
      wgmma_transposed<kTapNumbers>(Columns<kTileChannels>(), d, a, here);
      if constexpr (kAt + 1 < T::kSize)
        wgmma_transposed<2 * kTapNumbers>(Columns<kTileChannels>(), d, a, here + moved_by(kPositionBytes));
      end_products();
      wait_for_products<2>();
      // Rows that this group skips are handed back after it has seen a later one.
      if (kAt == 1) xs.hand_back(x_left, x_row);
      if constexpr (kAt + 2 < T::kSize) {
        load_matrices<true>(fragments[(kAt + 2) % T::kFragments], line + (kAt + 2) * kPositionBytes);
      } else if (next < share.end) {
        if constexpr (kAt + 2 == T::kSize) {
          dys.wait_until_full(next);
          next_line = dys.line(next) + fragment_row;
        }
        load_matrices<true>(fragments[kAt + 2 - T::kSize], next_line + (kAt + 2 - T::kSize) * kPositionBytes);
        if (kAt + 1 == T::kSize) dys.hand_back(dy_left, next);
      }
    };
    [&]<int... kPositions>(std::integer_sequence<int, kPositions...>) {
      (multiply.template operator()<kPositions>(), ...);
    }
    (std::make_integer_sequence<int, T::kSize>());
    row = next;
    line = next_line;
  }
  wait_for_products<0>();
}

// Writes pack j of thread `owner`: two rows of dweights, 8 apart, and two columns of each.
template <typename T>
__device__ inline void write_pack(float* dweights, const Share& share, int j, int owner, const float4& pack) {
  const int lane = owner % 32, row = share.k + owner % kGroup / 32 * 16 + lane / 4;
  const int tap = owner / kGroup * kFilterColumns + j / 8, channel = share.c + j % 8 * 8 + lane % 4 * 2;
  store_pack(dweights + (int64_t{row} * kTaps + tap) * T::kChannels + channel, kTaps * T::kChannels, pack);
}

// Waits until all blocks have written their partial sums.
__device__ inline void wait_for_partials(unsigned* turns) {
  sync_threads(kMultiplyingThreads, kMultiplying);
  if (threadIdx.x == 0) wait_for_blocks(turns);
  sync_threads(kMultiplyingThreads, kMultiplying);
}

// The first of two blocks with the same channels adds up half of the packs, and the second the
// rest. This one has those from kOwn on, and writes those from kOther on.
template <typename T, int kOwn, int kOther>
__device__ inline void add_half(const float (&d)[kNumbers], float4* partials, unsigned* turns, float* dweights,
                                const Share& share) {
  constexpr int kHalf = kPacks / 2;
  const auto half_of = [&](int block) { return partials + int64_t{block} * kHalf * kMultiplying + threadIdx.x; };
  float4* const given = half_of(blockIdx.x);
#pragma unroll
  for (int i = 0; i < kHalf; ++i) __stcg(given + i * kMultiplying, pack_of(d, kOther + i));
  wait_for_partials(turns);
  const float4* const taken = half_of(share.part == 0 ? blockIdx.x + T::kPairs : blockIdx.x - T::kPairs);
  float4 loaded[kHalf];  // together, so that one waits for all
#pragma unroll
  for (int i = 0; i < kHalf; ++i) loaded[i] = __ldcg(taken + i * kMultiplying);
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    add_to(loaded[i], pack_of(d, kOwn + i));
    write_pack<T>(dweights, share, kOwn + i, threadIdx.x, loaded[i]);
  }
}

// Adds up this block's share of the packs of all blocks with the same channels.
template <typename T>
__device__ inline void add_share(const float (&d)[kNumbers], float4* partials, unsigned* turns, float* dweights,
                                 const Share& share) {
  float4* const own = partials + int64_t{blockIdx.x} * kPartial + threadIdx.x;
#pragma unroll
  for (int j = 0; j < kPacks; ++j) __stcg(own + j * kMultiplying, pack_of(d, j));
  wait_for_partials(turns);
  const int parts = gridDim.x / T::kPairs;
  const int first = kPartial * share.part / parts, end = kPartial * (share.part + 1) / parts;
  const float4* const from = partials + int64_t{blockIdx.x % T::kPairs} * kPartial;
  for (int begin = first + threadIdx.x; begin < end; begin += T::kPacksAtOnce * kMultiplying) {
    float4 sums[T::kPacksAtOnce] = {};
    for (int part = 0; part < parts; part += T::kBlocksAtOnce) {
      float4 loaded[T::kPacksAtOnce][T::kBlocksAtOnce];
#pragma unroll
      for (int p = 0; p < T::kPacksAtOnce; ++p)
#pragma unroll
        for (int i = 0; i < T::kBlocksAtOnce; ++i) {
          const int pack = begin + p * kMultiplying, next = part + i;
          loaded[p][i] = pack < end && next < parts ? __ldcg(from + int64_t{next} * T::kPairs * kPartial + pack)
                                                    : float4{0, 0, 0, 0};
        }
#pragma unroll
      for (int p = 0; p < T::kPacksAtOnce; ++p)
#pragma unroll
        for (int i = 0; i < T::kBlocksAtOnce; ++i) add_to(sums[p], loaded[p][i]);
    }
#pragma unroll
    for (int p = 0; p < T::kPacksAtOnce; ++p) {
      const int pack = begin + p * kMultiplying;
      if (pack < end) write_pack<T>(dweights, share, pack / kMultiplying, pack % kMultiplying, sums[p]);
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads, 1)
    conv2d_wide_weight_gradient_kernel(const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap dy,
                                       float4* partials, float* dweights, unsigned* turns, int rows) {
  wait_for_kernels_before();
  extern __shared__ __align__(1024) uint8_t memory[];
  const Share share = share_of<T>(rows);
  const uint32_t slots = shared_address(memory), barriers = slots + T::kSlots * T::kLineBytes;
  const Ring<T::kXSlots, T::kLineBytes> xs = {slots, barriers, barriers + 8 * T::kXSlots,
                                              share.first - (share.first % T::kSize != 0)};
  const uint32_t dy_barriers = barriers + 16 * T::kXSlots;
  const Ring<T::kDySlots, T::kLineBytes> dys = {slots + T::kXSlots * T::kLineBytes, dy_barriers,
                                                dy_barriers + 8 * T::kDySlots, share.first};
  const int thread = threadIdx.x;
  const int group = __shfl_sync(0xffffffffu, thread / kGroup, 0);  // known to be the same in a warp
  if (thread == 0) {
    xs.init_barriers();
    dys.init_barriers();
    publish_barriers();
  }
  __syncthreads();

  if (group == kLoading) {
    give_registers<kGivenRegisters>();
    if (thread == kMultiplying) load_all<T>(share, xs, dys, x, dy);
    return;
  }
  take_registers<kTakenRegisters>();
  float d[kNumbers];
#pragma unroll
  for (int j = 0; j < kNumbers; ++j) d[j] = 0;
  multiply_all<T>(d, share, xs, dys, group);
  const int parts = gridDim.x / T::kPairs;
  if (parts > 2) {
    add_share<T>(d, partials, turns, dweights, share);
  } else if (parts == 1) {
#pragma unroll
    for (int j = 0; j < kPacks; ++j) write_pack<T>(dweights, share, j, thread, pack_of(d, j));
  } else if (share.part == 0) {
    add_half<T, 0, kPacks / 2>(d, partials, turns, dweights, share);
  } else {
    add_half<T, kPacks / 2, 0>(d, partials, turns, dweights, share);
  }
}

int rows_of(const Convolution& v) { return static_cast<int>((v.n + kImages - 1) / kImages * v.x_size[0]); }

// Blocks with the same channels, of a launch whose blocks all run at once; one if there are too few
// multiprocessors for that.
int parts_of(const Convolution& v, int multiprocessors) {
  const int groups = static_cast<int>(v.c) / kTileChannels;
  return std::max(1, std::min(rows_of(v), multiprocessors / (groups * groups)));
}

template <typename T>
void launch_weight_gradient(const Convolution& v, const void* x, const void* dy, float* dweights, void* scratch,
                            unsigned* turns, int multiprocessors, cudaStream_t stream) {
  const auto image = [&](const void* address) {
    return map_of_positions(address, v.n, T::kSize, T::kChannels, {kImages, T::kSize, 1});
  };
  const int parts = parts_of(v, multiprocessors);
  launch(
      conv2d_wide_weight_gradient_kernel<T>,
      {.blocks = parts * T::kPairs, .threads = kThreads, .shared_bytes = T::kSharedBytes, .is_cooperative = parts > 1},
      stream, image(x), image(dy), static_cast<float4*>(scratch), dweights, turns, rows_of(v));
}

}  // namespace

size_t conv2d_wide_weight_gradient_scratch_bytes(const Convolution& v, int multiprocessors) {
  const auto parts = static_cast<size_t>(parts_of(v, multiprocessors));
  return static_cast<size_t>(v.weight_elements()) * sizeof(float) * (parts == 2 ? 1 : parts);
}

void conv2d_wide_weight_gradient(const Convolution& v, const void* x, const void* dy, float* dweights, void* scratch,
                                 unsigned* turns, int multiprocessors, cudaStream_t stream) {
  const auto run = [&]<typename T>() {
    launch_weight_gradient<T>(v, x, dy, dweights, scratch, turns, multiprocessors, stream);
  };
  const auto is = [&](int64_t channels, int64_t size) { return v.c == channels && v.x_size[0] == size; };
  if (is(128, 14)) return run.operator()<Tile<128, 14>>();
  if (is(256, 14)) return run.operator()<Tile<256, 14>>();
  if (is(256, 7)) return run.operator()<Tile<256, 7>>();
  if (is(512, 7)) return run.operator()<Tile<512, 7>>();
  if (is(512, 4)) return run.operator()<Tile<512, 4>>();
  throw Error(Status::internal,
              text("conv2d_wide_weight_gradient has no kernel for ", v.c, " channels of ", v.x_size[0]));
}

}  // namespace troika::cuda::hopper
