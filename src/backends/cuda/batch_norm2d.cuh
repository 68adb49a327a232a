// Shared by batch_norm2d and its gradient: images, channels last, as a matrix [n h w rows,
// channels], and its sums.
//
// Sums over the rows take one launch. A block sums its slice of the rows for at most 64 channels.
// The block that ends last among those of the same channels adds up the slices, always in their
// order, and finishes the channels.
#pragma once

#include "backends/cuda/cuda_device.h"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/last_block.cuh"
#include "backends/cuda/loaded_packs.cuh"
#include "backends/cuda/pack_width.cuh"
#include "core/text.h"

namespace troika::cuda {

constexpr int kBlock = 384;        // threads, which may have 80 registers each
constexpr int kBlocksEach = 2;     // of a multiprocessor, at once
constexpr int kMostTile = 64;      // channels of a block
constexpr int kMostParts = 16;     // of a sum that threads share
constexpr int kAtOnce = 8;         // addends of a sum that are loaded together
constexpr int kLeastRowsEach = 4;  // of a thread: fewer blocks rather than fewer rows

// How the matrix is cut over a grid of [slices][tiles] blocks. A block takes one tile's packs of
// channels in one slice of the rows; its threads stand as [depth][lanes], one pack each, and those
// left over idle.
struct Tiling {
  int channels, packs;  // of a row
  int tiles, lanes;     // lanes: packs of a tile
  int depth;            // rows that a block reads at once
  int slices;
  int slice_rows, longer;  // rows of a slice; the first `longer` slices have one more

  // For packs of `pack` elements of images [n, c, h, w].
  Tiling(const CudaDevice& device, const Shape& x, int pack) {
    const int64_t all_rows = x[0] * x[2] * x[3];
    channels = static_cast<int>(x[1]);
    packs = channels / pack;
    const int most_lanes = kMostTile / pack;
    tiles = (packs + most_lanes - 1) / most_lanes;
    lanes = (packs + tiles - 1) / tiles;
    depth = kBlock / lanes;
    const int64_t wanted = kBlocksEach * device.multiprocessors() / tiles, useful = all_rows / (kLeastRowsEach * depth);
    slices = static_cast<int>(std::max<int64_t>(std::min(wanted, useful), 1));
    slice_rows = static_cast<int>(all_rows / slices);
    longer = static_cast<int>(all_rows % slices);
  }

  __host__ __device__ int rows_of(int slice) const { return slice_rows + (slice < longer ? 1 : 0); }
  __host__ __device__ int64_t first_row(int slice) const {
    return int64_t{slice} * slice_rows + (slice < longer ? slice : longer);
  }
  __host__ __device__ int64_t rows() const { return first_row(slices); }
  dim3 grid() const { return dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(slices)); }

  // Bytes of the sums that blocks leave to the last block: a pair per channel of each slice.
  size_t pairs_bytes() const { return static_cast<size_t>(slices) * static_cast<size_t>(channels) * sizeof(float2); }
};

// The packs that a thread takes: `count` of them, from `at` on, `stride` apart, all of the same
// channels.
struct Share {
  int64_t at, stride;
  int count, pack;
};

__device__ inline Share share_of(const Tiling& t) {
  const int lane = threadIdx.x % t.lanes, row = threadIdx.x / t.lanes, slice = blockIdx.y, rows = t.rows_of(slice);
  Share s;
  s.pack = blockIdx.x * t.lanes + lane;
  s.at = (t.first_row(slice) + row) * t.packs + s.pack;
  s.stride = int64_t{t.depth} * t.packs;
  s.count = row < t.depth && row < rows && s.pack < t.packs ? (rows - row - 1) / t.depth + 1 : 0;
  return s;
}

// The same packs, the last first.
__device__ inline Share backwards(Share s) {
  s.at += (s.count - 1) * s.stride;
  s.stride = -s.stride;
  return s;
}

// The numbers of a pack's channels.
template <int V>
__device__ void load_channels(float (&to)[V], const float* from, int pack) {
  const auto p = reinterpret_cast<const Pack<float, V>*>(from)[pack];
#pragma unroll
  for (int v = 0; v < V; ++v) to[v] = p.v[v];
}

// Sums a and b over the rows of the block. Thread i gets those of channel i of the tile.
template <int V>
__device__ float2 sum_rows(const Tiling& t, const float (&a)[V], const float (&b)[V]) {
  constexpr int kRow = kBlock + kMostTile / V % 32;  // a warp, which reads several, finds them in different banks
  __shared__ float values[2 * V * kRow], parts[kBlock];
#pragma unroll
  for (int v = 0; v < V; ++v) {
    values[v * kRow + threadIdx.x] = a[v];
    values[(V + v) * kRow + threadIdx.x] = b[v];
  }
  __syncthreads();
  const int half = V * t.lanes, sums = 2 * half, shared_by = min(kBlock / sums, kMostParts);
  const int sum = threadIdx.x % sums, part = threadIdx.x / sums;
  if (part < shared_by) {
    const float* from = values + sum / t.lanes * kRow + sum % t.lanes;
    float s = 0;
    for (int row = part; row < t.depth; row += kAtOnce * shared_by) {
      float addends[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int next = row + i * shared_by;
        addends[i] = next < t.depth ? from[next * t.lanes] : 0;
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) s += addends[i];
    }
    parts[threadIdx.x] = s;
  }
  __syncthreads();
  float2 total = {0, 0};
  if (threadIdx.x < half) {
    const int at = threadIdx.x % V * t.lanes + threadIdx.x / V;
    for (int i = 0; i < shared_by; ++i) {
      total.x += parts[i * sums + at];
      total.y += parts[i * sums + half + at];
    }
  }
  return total;
}

// Whether this block is the last of its tile to come here (last_block.cuh). `arrived` has a number
// for each tile.
__device__ inline bool is_last_of_tile(unsigned* arrived, bool has_written) {
  return is_last_block(&arrived[blockIdx.x], gridDim.y, has_written);
}

// Sums term(pair, slice) over the slices' pairs [slices][channels]. Thread i gets the sums of
// channel i of the tile, `width` channels wide.
template <typename Term>
__device__ double2 fold_slices(const Tiling& t, const float2* pairs, int width, Term term) {
  __shared__ double2 parts[kBlock];
  const int shared_by = min(kBlock / width, kMostParts);
  const int channel = blockIdx.x * width + threadIdx.x % width, part = threadIdx.x / width;
  float2 sum = {0, 0};
  if (part < shared_by && channel < t.channels)
    for (int slice = part; slice < t.slices; slice += kAtOnce * shared_by) {
      float2 loaded[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int next = slice + i * shared_by;
        if (next < t.slices) loaded[i] = __ldcg(&pairs[int64_t{next} * t.channels + channel]);
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int next = slice + i * shared_by;
        if (next >= t.slices) break;
        const float2 addend = term(loaded[i], next);
        sum.x += addend.x;
        sum.y += addend.y;
      }
    }
  parts[threadIdx.x] = {sum.x, sum.y};
  __syncthreads();
  double2 total = {0, 0};
  if (threadIdx.x < width)
    for (int i = 0; i < shared_by; ++i) {
      total.x += parts[i * width + threadIdx.x].x;
      total.y += parts[i * width + threadIdx.x].y;
    }
  return total;
}

// Rows of sums of parts of an image, or of ranks, are added up by blocks of kThreads.
constexpr int kMergedChannels = 32, kMergingParts = kThreads / kMergedChannels;  // of a block; of a sum

// Returns the sum of term(row) over the rows, on all threads. `sums` has a number per thread.
template <typename Term>
__device__ double sum_over_rows(int64_t rows, double* sums, Term term) {
  const int lane = threadIdx.x % kMergedChannels, part = threadIdx.x / kMergedChannels;
  double sum = 0;
#pragma unroll 8
  for (int64_t r = part; r < rows; r += kMergingParts) sum += term(r);
  __syncthreads();
  sums[threadIdx.x] = sum;
  __syncthreads();
  sum = 0;
  for (int i = 0; i < kMergingParts; ++i) sum += sums[i * kMergedChannels + lane];
  return sum;
}

// Numbers for is_last_of_tile, which outlive the step: no launch has to clear them.
inline Buffer allocate_arrived(CudaDevice& device, const Node& node, const Tiling& t) {
  if (device.is_plan_only()) return {};
  return device.allocate(static_cast<size_t>(t.tiles) * sizeof(unsigned), text(node.op, " '", node.name, "'"));
}

// A bit for each element of a ReLU's result: whether it lets the gradient pass. NaN does.
template <typename T, int V>
__device__ inline uint8_t relu_mask(const Pack<T, V>& y) {
  unsigned bits = 0;
#pragma unroll
  for (int v = 0; v < V; ++v) bits |= (to_float(y.v[v]) <= 0 ? 0u : 1u) << v;
  return static_cast<uint8_t>(bits);
}

// Asks make(T{}, V, tiling) for a kernel that takes packs of V elements of type T. Input 0 is an
// image, and so are `images` if they are present. All have one type.
template <typename Make>
KernelChoice choose_by_pack(CudaDevice& device, const KernelRequest& request, const std::vector<size_t>& images,
                            Make make) {
  const TensorType& x = input_type(request, 0);
  for (size_t i : images)
    if (has_input(request, i) && input_type(request, i) != x)
      throw Error(Status::internal,
                  text(request.node.op, " '", request.node.name, "': input is ", name_of(x.dtype), x.shape, ", input ",
                       i, " ", name_of(input_type(request, i).dtype), input_type(request, i).shape, ", need the same"));
  return with_type(x.dtype, [&](auto zero) {
    return with_pack<decltype(zero)>(x.shape[1], [&](auto pack) {
      return nhwc_choice(request, text("cuda:own:nhwc_vec", pack()), make(zero, pack, Tiling(device, x.shape, pack)));
    });
  });
}

}  // namespace troika::cuda
