// conv2d with a filter of 1x1, stride 1 or 2, and its input gradient, on Hopper: a product of
// pixels [pixels, c] and weights [k, c].
//
// A product is weights [64 output channels, 16] times pixels [128, 16], both in shared memory. A
// tile is 128 pixels, whose input channels pass through a ring in chunks of 64. With stride 2 a
// tile is whole rows of y, or whole images, and the ring keeps zeros after its pixels.
//
// One block per multiprocessor, always with the same 64, 128 or 256 output channels. Its weights
// stay in shared memory if they have room. Blocks with other channels of the same pixels run at the
// same time: memory is read once, and the L2 cache as often as there are such blocks. Warp 0 loads.
// Two groups of four warps multiply in turn, so that one multiplies while the other stores. Each
// has every other tile or, of 256 channels, half of them.
//
// If the weights have no room, they come with the pixels. Then the groups have two tiles at
// once, which share the weights.
//
// With a rider, the blocks with the same tiles write a row of sums over their part of the result:
// {pixels, numbers [channels], numbers [channels]}. The sums of batch_norm2d's gradient need x of
// the same pixels, which are loaded to the places of the results. Another gradient that is added is
// loaded there before x. If that one has gaps of 2, a tile has at most 64 of its pixels, which are
// stored one after the other. A table in shared memory has the row of each pixel of the tile: one
// of these, or a row of zeros.
//
// The input gradient of stride 2 is zero in three of four pixels. Zeros are stored with each tile.
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/gaps.cuh"
#include "backends/cuda/hopper/conv2d_1x1_form.cuh"
#include "backends/cuda/hopper/conv2d_1x1_tiles.h"
#include "backends/cuda/hopper/conv2d_kernels.h"
#include "backends/cuda/hopper/conv2d_tiles.h"
#include "backends/cuda/hopper/results.cuh"

namespace troika::cuda::hopper {
namespace {

constexpr int kSlices = kTileChannels / 16;
constexpr int kThreads = 3 * kGroup, kWarps = kGroup / 32;
// An addend with gaps has at most so many pixels in a tile. A row of zeros and the tables are
// stored after the barriers.
constexpr int kStoredPixels = kPixels / 2, kNoRow = 255;
constexpr int kZerosFrom = kBarrierBytes - kRowBytes, kTablesFrom = kZerosFrom - 2 * kPixels;
constexpr int kSharedSums = 256;  // numbers that write_sums() needs
constexpr int kGivenRegisters = 72, kTakenRegisters = 216;
constexpr int kTurn = 1, kOwn = 3, kBoth = 5;  // barriers of threads: group g has kTurn + g and kOwn + g

// `pixels` of results with `channels` channels, of `chunks` times 64 input channels. A tile has
// `tile_pixels`. The next one begins so many rows and images further on in the input and in the
// results. `units` are tiles, or pairs of tiles that a block has at once.
struct Work {
  int pixels, channels, chunks, tile_pixels, in_rows, in_images, out_rows, out_images, units, stages;
};

// Results of stride 2 that are zero: odd columns, odd rows, and both.
struct Zeros {
  CUtensorMap maps[3];
};

// A block's channels, and its units: `count` of them, from `first` on, `step` apart.
struct Share {
  int channel, first, step, count;
};

template <typename F>
__device__ inline Share share_of(const Work& work) {
  const int groups = work.channels / F::kChannels;
  Share s;
  s.channel = blockIdx.x % groups * F::kChannels;
  s.first = blockIdx.x / groups;
  s.step = gridDim.x / groups;
  s.count = (work.units - s.first + s.step - 1) / s.step;
  return s;
}

struct Places {  // in shared memory
  uint32_t weights, stages, outs, zeros, full, empty, weights_full, side_full, zero_row;
  float* sums;              // in the place of outs, at the end
  uint8_t* rows_of_addend;  // of each group's tile: kNoRow if the addend does not have the pixel
};

// A stage of the ring, and the parity of its phase.
struct Stage {
  int number, parity;

  // The one that chunk `chunk` of the block passes through.
  __device__ Stage(int chunk, int stages) : number(chunk % stages), parity(chunk / stages % 2) {}
  __device__ void go_on(int stages) {
    if (++number < stages) return;
    number = 0;
    parity ^= 1;
  }
};

template <typename F, Wanted kWanted>
__device__ inline void load_weights(uint32_t to, const CUtensorMap& filter, uint32_t barrier, int chunk, int channel) {
  constexpr bool kIsGradient = kWanted != Wanted::y;
#pragma unroll
  for (int box = 0; box < F::kAllBoxes; ++box) {
    const int out = channel + box * kTileChannels, in = chunk * kTileChannels;
    load_box(to + box * kWeightBytes, filter, barrier, kIsGradient ? out : in, 0, kIsGradient ? in : out);
  }
}

template <typename F, Wanted kWanted>
__device__ inline void load_all(const Places& m, const CUtensorMap& in, const CUtensorMap& filter, const Work& work) {
  const Share share = share_of<F>(work);
  Stage stage(0, work.stages);
  for (int i = 0; i < share.count; ++i)
    for (int chunk = 0; chunk < work.chunks; ++chunk) {
      if (!F::kStreams && i == 0) {
        expect_bytes(m.weights_full + 8 * chunk, F::kChunkBytes);
        load_weights<F, kWanted>(m.weights + chunk * F::kChunkBytes, filter, m.weights_full + 8 * chunk, chunk,
                                 share.channel);
      }
      const uint32_t here = m.stages + stage.number * F::kStageBytes, full = m.full + 8 * stage.number;
      wait(m.empty + 8 * stage.number, stage.parity ^ 1);
      expect_bytes(full, F::kTiles * work.tile_pixels * kRowBytes + (F::kStreams ? F::kChunkBytes : 0));
#pragma unroll
      for (int t = 0; t < F::kTiles; ++t) {
        const int tile = (share.first + i * share.step) * F::kTiles + t;
        load_box(here + t * kPixelBytes, in, full, chunk * kTileChannels, 0, tile * work.in_rows,
                 tile * work.in_images);
      }
      if (F::kStreams) load_weights<F, kWanted>(here + F::kTiles * kPixelBytes, filter, full, chunk, share.channel);
      stage.go_on(work.stages);
    }
}

// Group g of the two.
template <typename F, Wanted kWanted, Rider kRider, bool kHasGaps>
__device__ inline void multiply_and_store(const Places& m, const CUtensorMap& out, const Zeros& zeros,
                                          const CUtensorMap& side, const CUtensorMap& addend,
                                          const NormalizedRelu& relu_of, const Gaps& gaps, float* sums_of, int g,
                                          const Work& work) {
  constexpr bool kHasSide = needs_x(kRider), kAdds = kRider == Rider::masked_sums;
  const int lane = threadIdx.x % 32, leader = threadIdx.x % kGroup == 0;
  constexpr bool kIsGradient = kWanted != Wanted::y, kHasZeros = kWanted == Wanted::spread_dx;
  constexpr int kStores = kHasZeros ? 4 : 1;  // of a box
  constexpr bool kTakesTiles = F::kDivision == Division::tiles, kTakesChannels = F::kDivision == Division::channels;
  const Share share = share_of<F>(work);
  const int own_box = kTakesChannels ? g * F::kBoxes : 0;  // the first of the block's
  const int channel = share.channel + own_box * kTileChannels;
  const auto place_of = [&](int box) { return m.outs + (g * F::kPlaces + box % F::kPlaces) * kPixelBytes; };
  const auto side_of = [&](int box) { return m.side_full + 8 * (g * F::kPlaces + box % F::kPlaces); };
  Sums sums[F::kBoxes];
  ReluOf relu[F::kBoxes];
  Mask<kPixels> masks[F::kBoxes];
  int side_turns[F::kPlaces] = {};
  if constexpr (kHasSide)
#pragma unroll
    for (int box = 0; box < F::kBoxes; ++box) relu[box].template load<kRider>(relu_of, channel + box * kTileChannels);

  const int begin = kTakesTiles ? g : 0;
  for (int i = begin; i < share.count; i += kTakesTiles ? 2 : 1) {
    const int unit = share.first + i * share.step, tile = F::kStreams ? unit * F::kTiles + g : unit;
    const int turn = kTakesChannels ? 2 * i + g : i, turns = kTakesChannels ? 2 * share.count : share.count;
    const int first = tile * work.tile_pixels;
    // Loads the addend, or x, to the place of the results of a box. The leader calls this.
    const auto load_side = [&](int box, const CUtensorMap& map) {
      expect_bytes(side_of(box), kPixelBytes);
      load_box(place_of(box), map, side_of(box), channel + box * kTileChannels, 0, first, 0);
    };
    const int first_stored = kHasGaps ? gaps.count_before(first) : 0;  // of the addend's pixels
    // Loads what comes first to the place of the results of a box. The leader calls this.
    const auto load_before = [&](int box) {
      if constexpr (kHasGaps) {
        expect_bytes(side_of(box), kStoredPixels * kRowBytes);
        load_box(place_of(box), addend, side_of(box), channel + box * kTileChannels, 0, first_stored, 0);
      } else {
        load_side(box, kAdds ? addend : side);
      }
    };
    const auto wait_for_side = [&](int box) {
      wait(side_of(box), side_turns[box % F::kPlaces]);
      side_turns[box % F::kPlaces] ^= 1;
    };
    if (kHasSide && leader) {
      wait_for_reads_of_stores<0>();
#pragma unroll
      for (int box = 0; box < F::kPlaces; ++box) load_before(box);
    }
    if constexpr (kAdds) {
#pragma unroll
      for (int box = 0; box < F::kBoxes; ++box)
        masks[box].load(relu_of.mask, [&](int column) {
          const int pixel = first + column;
          return pixel < work.pixels ? pixel * (work.channels / 8) + channel / 8 + box * (kTileChannels / 8) : -1;
        });
    }

    if constexpr (kHasGaps) {
      const int own = threadIdx.x % kGroup, found = gaps.find(first + own);
      m.rows_of_addend[g * kPixels + own] = static_cast<uint8_t>(found < 0 ? kNoRow : found - first_stored);
      sync_threads(kOwn + g, kGroup);
    }

    // When its turn comes, a group knows that the phases of all stages before have ended.
    if (!F::kStreams && turn > 0) sync_threads(kTurn + g, 2 * kGroup);
    float d[F::kBoxes][kPixels / 2];
    Stage stage(i * work.chunks, work.stages);
    int used = 0;
    for (int chunk = 0; chunk < work.chunks; ++chunk) {
      const uint32_t here = m.stages + stage.number * F::kStageBytes;
      if (!F::kStreams && i == begin) wait(m.weights_full + 8 * chunk, 0);
      wait(m.full + 8 * stage.number, stage.parity);
      const uint64_t pixels = describe(F::kStreams ? here + g * kPixelBytes : here);
      const uint64_t weights = describe(F::kStreams ? here + F::kTiles * kPixelBytes
                                                    : m.weights + chunk * F::kChunkBytes + own_box * kWeightBytes);
      begin_products();
#pragma unroll
      for (int k = 0; k < kSlices; ++k)
#pragma unroll
        for (int box = 0; box < F::kBoxes; ++box)
          wgmma_shared<kIsGradient>(Columns<kPixels>(), d[box],
                                    weights + moved_by(box * kWeightBytes + k * (kIsGradient ? 16 * kRowBytes : 32)),
                                    pixels + moved_by(k * 32), k > 0 ? 1 : chunk);
      end_products();
      wait_for_products<1>();  // the chunk before is done: its stage is handed back
      if (lane == 0 && chunk > 0) arrive(m.empty + 8 * used);
      used = stage.number;
      stage.go_on(work.stages);
    }
    if (!F::kStreams && turn + 1 < turns) arrive_threads(kTurn + 1 - g, 2 * kGroup);
    wait_for_products<0>();
    if (lane == 0) arrive(m.empty + 8 * used);

#pragma unroll
    for (int box = 0; box < F::kBoxes; ++box) {
      const uint32_t here = place_of(box), row = matrix_row(here);
      if constexpr (kAdds) {
        AddedResults<kPixels> added;
        wait_for_side(box);
        if constexpr (kHasGaps)
          added.add(d[box], [&](int column) {
            const int stored = m.rows_of_addend[g * kPixels + column + own_row()];
            return stored == kNoRow ? m.zero_row : here + stored * kRowBytes + (own_chunk() ^ stored % 8) * 16;
          });
        else
          added.add(d[box], row);
        sync_threads(kOwn + g, kGroup);
        if (leader) load_side(box, side);
        wait_for_side(box);
        store_results<kPixels, kRider>(added, row, relu[box], masks[box], sums[box]);
      } else {
        if constexpr (kHasSide) {
          wait_for_side(box);
        } else {
          if (leader) wait_for_reads_of_stores<kStores*(F::kPlaces - 1)>();
          sync_threads(kOwn + g, kGroup);
        }
        store_results<kPixels, kRider>(Results{d[box]}, row, relu[box], masks[box], sums[box]);
      }
      publish_stores();
      sync_threads(kOwn + g, kGroup);
      if (leader) {
        const auto store = [&](const CUtensorMap& map, uint32_t from) {
          store_box(map, from, channel + box * kTileChannels, 0, tile * work.out_rows, tile * work.out_images);
        };
        if constexpr (kHasZeros)
          for (const CUtensorMap& map : zeros.maps) store(map, m.zeros);
        store(out, here);
        if (kHasSide && box + F::kPlaces < F::kBoxes) {
          wait_for_reads_of_stores<0>();
          load_before(box + F::kPlaces);
        }
      }
    }
  }
  if constexpr (kRider != Rider::none) {
    if (leader) wait_for_reads_of_stores<0>();
    sync_threads(kBoth, 2 * kGroup);
    const int unit_pixels = F::kTiles * work.tile_pixels, before = (share.count - 1) * unit_pixels;
    const int left = work.pixels - (share.first + (share.count - 1) * share.step) * unit_pixels;
    const float count = static_cast<float>(before + min(left, unit_pixels));
    float* const row = sums_of + int64_t{share.first} * (2 * work.channels + 1);
    if (g == 0 && leader && share.channel == 0) *row = count;
#pragma unroll
    for (int box = 0; box < F::kBoxes; ++box) {
      float* const to = row + 1 + channel + box * kTileChannels;
      if constexpr (kTakesChannels)
        write_sums<kRider, 1>(sums[box], 0, m.sums + (own_box + box) * kSharedSums, kOwn + g, count, to, work.channels);
      else
        write_sums<kRider>(sums[box], g, m.sums + box * kSharedSums, kBoth, count, to, work.channels);
    }
  }
  if (leader) wait_for_stores<0>();
}

template <typename F, Wanted kWanted, Rider kRider, bool kHasGaps>
__global__ void __launch_bounds__(kThreads, 1)
    conv2d_1x1_kernel(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap filter,
                      const __grid_constant__ CUtensorMap out, const __grid_constant__ Zeros zeros,
                      const __grid_constant__ CUtensorMap side, const __grid_constant__ CUtensorMap addend,
                      const NormalizedRelu relu, const Gaps gaps, float* sums, const Work work) {
  wait_for_kernels_before();
  extern __shared__ __align__(1024) uint8_t memory[];
  Places m;
  m.weights = shared_address(memory);
  m.stages = m.weights + (F::kStreams ? 0 : work.chunks * F::kChunkBytes);
  m.outs = m.stages + work.stages * F::kStageBytes;
  m.zeros = m.outs + F::kOutBytes;
  m.full = m.zeros + (kWanted == Wanted::spread_dx ? kPixelBytes : 0);
  m.empty = m.full + 8 * work.stages;
  m.side_full = m.empty + 8 * work.stages;
  m.zero_row = m.full + kZerosFrom;
  m.rows_of_addend = memory + (m.full + kTablesFrom - m.weights);
  m.weights_full = m.side_full + 8 * 2 * F::kPlaces;
  m.sums = reinterpret_cast<float*>(memory + (m.outs - m.weights));
  const int thread = threadIdx.x;
  const int group = __shfl_sync(0xffffffffu, thread / kGroup, 0);  // known to be the same in a warp
  if (thread == 0) {
    for (int s = 0; s < work.stages; ++s) {
      init_barrier(m.full + 8 * s, 1);
      init_barrier(m.empty + 8 * s, F::kReaders * kWarps);
    }
    for (int s = 0; s < 2 * F::kPlaces; ++s) init_barrier(m.side_full + 8 * s, 1);
    if (!F::kStreams)
      for (int chunk = 0; chunk < work.chunks; ++chunk) init_barrier(m.weights_full + 8 * chunk, 1);
    publish_barriers();
  }
  const int packs = (kPixels - work.tile_pixels) * (kRowBytes / 16);  // after the pixels of a tile
  for (int s = 0; s < work.stages; ++s)
    for (int t = 0; t < F::kTiles; ++t)
      for (int i = thread; i < packs; i += kThreads)
        store_shared(m.stages + s * F::kStageBytes + t * kPixelBytes + work.tile_pixels * kRowBytes + i * 16,
                     {0, 0, 0, 0});
  if (kWanted == Wanted::spread_dx)
    for (int i = thread; i < kPixelBytes / 16; i += kThreads) store_shared(m.zeros + i * 16, {0, 0, 0, 0});
  if (kHasGaps && thread < kRowBytes / 16) store_shared(m.zero_row + thread * 16, {0, 0, 0, 0});
  publish_stores();
  __syncthreads();

  if (group == 0) {
    give_registers<kGivenRegisters>();
    if (thread == 0) load_all<F, kWanted>(m, in, filter, work);
    return;
  }
  take_registers<kTakenRegisters>();
  multiply_and_store<F, kWanted, kRider, kHasGaps>(m, out, zeros, side, addend, relu, gaps, sums, group - 1, work);
}

PixelTile tile_of(const Convolution& v) { return pixel_tile(v, kPixels); }

Wanted wanted_dx(const Convolution& v) { return v.stride[0] > 1 ? Wanted::spread_dx : Wanted::dx; }

template <typename F>
int units_of(const Convolution& v) {
  const int64_t unit = F::kTiles * tile_of(v).pixels;
  return static_cast<int>((v.pixels() + unit - 1) / unit);
}

// Blocks with the same channels.
template <typename F>
int rows_of(const Convolution& v, int64_t out, int multiprocessors) {
  const int groups = static_cast<int>(out) / F::kChannels;
  return std::min(units_of<F>(v), std::max(multiprocessors / groups, 1));
}

template <Wanted kWanted, typename F, Rider kRider, bool kHasGaps = false>
void launch_1x1(const Convolution& v, const void* in, const void* weights, void* out, const NormalizedRelu& relu,
                float* sums, int multiprocessors, cudaStream_t stream) {
  const bool is_gradient = kWanted != Wanted::y, has_zeros = kWanted == Wanted::spread_dx;
  const int64_t channels = is_gradient ? v.c : v.k, in_channels = is_gradient ? v.k : v.c;
  const PixelTile tile = tile_of(v);
  const auto pixels = static_cast<int>(tile.pixels), rows = static_cast<int>(tile.rows),
             images = static_cast<int>(tile.images);
  const int chunks = static_cast<int>(in_channels / kTileChannels);
  const Work work = {.pixels = static_cast<int>(v.pixels()),
                     .channels = static_cast<int>(channels),
                     .chunks = chunks,
                     .tile_pixels = pixels,
                     .in_rows = is_gradient ? pixels : rows,
                     .in_images = is_gradient ? 0 : images,
                     .out_rows = has_zeros ? rows : pixels,
                     .out_images = has_zeros ? images : 0,
                     .units = units_of<F>(v),
                     .stages = F::stages(chunks, kWanted)};
  const auto results = [&](const void* address) { return map_of_pixels(address, v, channels, pixels); };
  const CUtensorMap filter = map_of(weights, {{v.c, 2, kTileChannels}, {1, 2 * v.c, 1}, {v.k, 2 * v.c, kTileChannels}});
  Zeros zeros{};
  if (has_zeros) zeros = {{map_of_x(out, v, tile, 0, 1), map_of_x(out, v, tile, 1, 0), map_of_x(out, v, tile, 1, 1)}};
  CUtensorMap addend{};
  Gaps gaps;
  if (kHasGaps) {
    gaps = Gaps(v.x_size[0], v.x_size[1], relu.addend_stride);
    addend = map_of_stored(relu.addend, v.n * gaps.rows * gaps.columns, channels, kStoredPixels);
  } else if (kRider == Rider::masked_sums) {
    addend = results(relu.addend);
  }
  const int groups = static_cast<int>(channels) / F::kChannels;
  launch(conv2d_1x1_kernel<F, kWanted, kRider, kHasGaps>,
         {rows_of<F>(v, channels, multiprocessors) * groups, kThreads,
          F::fixed_bytes(chunks, kWanted) + work.stages * F::kStageBytes},
         stream, is_gradient ? map_of_pixels(in, v, v.k, pixels) : map_of_x(in, v, tile), filter,
         has_zeros ? map_of_x(out, v, tile) : results(out), zeros, needs_x(kRider) ? results(relu.x) : CUtensorMap{},
         addend, relu, gaps, sums, work);
}

}  // namespace

bool takes_conv2d_1x1(const Convolution& v) {
  return is_plain_1x1(v) && tile_of(v).pixels > 0 && have_room(v.c, v.k, Wanted::y);
}

bool takes_conv2d_1x1_input_gradient(const Convolution& v) {
  return is_plain_1x1(v) && tile_of(v).pixels > 0 && have_room(v.k, v.c, wanted_dx(v)) &&
         (v.stride[0] == 1 || (v.x_size[0] > 1 && v.x_size[1] > 1));
}

bool takes_gaps_1x1(const Convolution& v) {
  return takes_conv2d_1x1_input_gradient(v) && v.stride[0] == 1 && v.x_size[1] % 2 == 0;
}

int rows_of_sums_1x1(const Convolution& v, int multiprocessors) {
  return with_form(v.c, v.k, Wanted::y, [&]<typename F>() { return rows_of<F>(v, v.k, multiprocessors); });
}

int rows_of_gradient_sums_1x1(const Convolution& v, int multiprocessors) {
  if (v.stride[0] > 1) return 0;
  return with_form(v.k, v.c, Wanted::dx, [&]<typename F>() { return rows_of<F>(v, v.c, multiprocessors); });
}

void conv2d_1x1(const Convolution& v, const void* x, const void* weights, void* y, float* moments, int multiprocessors,
                cudaStream_t stream) {
  with_form(v.c, v.k, Wanted::y, [&]<typename F>() {
    (moments ? launch_1x1<Wanted::y, F, Rider::moments>
             : launch_1x1<Wanted::y, F, Rider::none>)(v, x, weights, y, {}, moments, multiprocessors, stream);
  });
}

void conv2d_1x1_input_gradient(const Convolution& v, const void* weights, const void* dy, void* dx,
                               const NormalizedRelu& relu, float* sums, int multiprocessors, cudaStream_t stream) {
  with_form(v.k, v.c, wanted_dx(v), [&]<typename F>() {
    const auto run = v.stride[0] > 1          ? launch_1x1<Wanted::spread_dx, F, Rider::none>
                     : relu.addend_stride > 1 ? launch_1x1<Wanted::dx, F, Rider::masked_sums, true>
                     : relu.mask              ? launch_1x1<Wanted::dx, F, Rider::masked_sums>
                     : sums                   ? launch_1x1<Wanted::dx, F, Rider::relu_sums>
                                              : launch_1x1<Wanted::dx, F, Rider::none>;
    run(v, dy, weights, dx, relu, sums, multiprocessors, stream);
  });
}

}  // namespace troika::cuda::hopper
