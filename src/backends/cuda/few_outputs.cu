// A thread multiplies a pack of features of its rows by a few outputs' dy. A block adds up its
// threads' sums, and a second launch those of the chunks of rows, each in a fixed order.
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/few_outputs.h"

#include "backends/cuda/epilogue.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/pack_width.cuh"

namespace troika::cuda {
namespace {

constexpr int kGroup = 4;                    // outputs of a thread, and of its block
constexpr int kColumns = 8;                  // packs of features of a block: 128 bytes of a row, if packs have 16
constexpr int kLanes = kThreads / kColumns;  // rows of a block at a time

// How the sums are shared among blocks. A block has a tile of columns of one chunk of the rows, and
// a group of outputs. Groups are next to each other, because they read the same x.
struct SumCut {
  int64_t columns, tiles, rows_of_chunk, chunks;
  unsigned groups;

  SumCut(const FewOutputs& s, int pack) {
    constexpr int64_t kRowsOfThread = 2, kMostBlocks = 1024;
    columns = s.features / pack;
    groups = static_cast<unsigned>((s.outputs + kGroup - 1) / kGroup);
    tiles = (columns + kColumns - 1) / kColumns;
    const int64_t most = std::max<int64_t>(kMostBlocks / (groups * tiles), 1);
    const int64_t wanted = std::clamp<int64_t>(s.rows / (kRowsOfThread * kLanes), 1, most);
    rows_of_chunk = (s.rows + wanted - 1) / wanted;
    chunks = (s.rows + rows_of_chunk - 1) / rows_of_chunk;
  }
};

// Chunk c writes its sums at c * step after dweights and dbias, which may be null.
template <typename T, int kN>
__global__ void __launch_bounds__(kThreads)
    few_outputs_kernel(const T* dy, const T* x, float* dweights, float* dbias, int64_t step, FewOutputs s, SumCut cut) {
  wait_for_kernels_before();
  constexpr int kSums = kGroup * kN * kColumns;  // of a block: [output, element of a pack, column]
  constexpr int kRow = kSums + kColumns;         // neighbouring lanes use other banks
  static_assert(kSums <= kThreads);
  __shared__ float shared[kLanes * kRow], shared_bias[kLanes * kGroup];
  const int lane = static_cast<int>(threadIdx.x) / kColumns, at = static_cast<int>(threadIdx.x) % kColumns;
  const int64_t tile = blockIdx.x / cut.groups, column = tile * kColumns + at;
  const int64_t first = blockIdx.x % cut.groups * kGroup;
  const int64_t begin = blockIdx.y * cut.rows_of_chunk, end = min(begin + cut.rows_of_chunk, s.rows);
  float sum[kGroup][kN] = {}, bias_sum[kGroup] = {};
  if (column < cut.columns) {
#pragma unroll 2
    for (int64_t row = begin + lane; row < end; row += kLanes) {
      const auto v = reinterpret_cast<const Pack<T, kN>*>(x)[row * cut.columns + column];
#pragma unroll
      for (int o = 0; o < kGroup; ++o) {
        const float g = first + o < s.outputs ? to_float(dy[row * s.outputs + first + o]) : 0.0f;
        bias_sum[o] += g;
#pragma unroll
        for (int k = 0; k < kN; ++k) sum[o][k] = fmaf(g, to_float(v.v[k]), sum[o][k]);
      }
    }
  }
#pragma unroll
  for (int o = 0; o < kGroup; ++o) {
#pragma unroll
    for (int k = 0; k < kN; ++k) shared[lane * kRow + (o * kN + k) * kColumns + at] = sum[o][k];
    if (at == 0) shared_bias[lane * kGroup + o] = bias_sum[o];
  }
  __syncthreads();

  const int i = static_cast<int>(threadIdx.x);
  if (i < kSums) {
    float total = 0;
#pragma unroll 8
    for (int l = 0; l < kLanes; ++l) total += shared[l * kRow + i];
    const int64_t output = first + i / (kN * kColumns), in_column = tile * kColumns + i % kColumns;
    if (output < s.outputs && in_column < cut.columns)
      dweights[blockIdx.y * step + output * s.features + in_column * kN + i / kColumns % kN] = total;
  }
  if (dbias && tile == 0 && i < kGroup && first + i < s.outputs) {
    float total = 0;
    for (int l = 0; l < kLanes; ++l) total += shared_bias[l * kGroup + i];
    dbias[blockIdx.y * step + first + i] = total;
  }
}

}  // namespace

void few_outputs_weight_gradient(DType dtype, const FewOutputs& sizes, const void* dy, const void* x, float* dweights,
                                 float* dbias, void* scratch, cudaStream_t stream) {
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    with_pack<T>(sizes.features, [&](auto pack) {
      constexpr int kN = decltype(pack)::value;
      const SumCut cut(sizes, kN);
      const dim3 grid(static_cast<unsigned>(cut.tiles) * cut.groups, static_cast<unsigned>(cut.chunks));
      const int64_t weights = sizes.outputs * sizes.features, n = weights + (dbias ? sizes.outputs : 0);
      auto* const partials = static_cast<float*>(scratch);
      float* const to = cut.chunks > 1 ? partials : dweights;
      float* const bias_to = dbias && cut.chunks > 1 ? partials + weights : dbias;
      few_outputs_kernel<T, kN><<<grid, kThreads, 0, stream>>>(static_cast<const T*>(dy), static_cast<const T*>(x), to,
                                                               bias_to, n, sizes, cut);
      if (cut.chunks > 1) sum_partials(partials, cut.chunks, dweights, weights, dbias, n - weights, stream);
    });
  });
}

size_t few_outputs_scratch_bytes(DType dtype, const FewOutputs& sizes) {
  return with_type(dtype, [&](auto zero) {
    return with_pack<decltype(zero)>(sizes.features, [&](auto pack) -> size_t {
      const int64_t chunks = SumCut(sizes, decltype(pack)::value).chunks;
      return chunks > 1 ? static_cast<size_t>(chunks * sizes.outputs * (sizes.features + 1)) * sizeof(float) : 0;
    });
  });
}

}  // namespace troika::cuda
