// Passes over rows of channels, 16 bytes per thread at a time if the number of channels allows it.
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/epilogue.h"

#include "backends/cuda/grid.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/pack_width.cuh"

namespace troika::cuda {
namespace {

// y is [rows, columns, kN].
template <typename T, int kN>
__global__ void __launch_bounds__(kThreads)
    bias_relu_kernel(T* y, const float* bias, bool relu, int64_t packs, int64_t columns) {
  wait_for_kernels_before();
  const int64_t step = index_step(), column_step = step % columns;
  int64_t column = first_index() % columns;
  for (int64_t i = first_index(); i < packs; i += step) {
    auto v = reinterpret_cast<Pack<T, kN>*>(y)[i];
    Pack<float, kN> b = {};
    if (bias) b = reinterpret_cast<const Pack<float, kN>*>(bias)[column];
#pragma unroll
    for (int k = 0; k < kN; ++k) {
      const float sum = to_float(v.v[k]) + b.v[k];
      v.v[k] = from_float<T>(relu && sum < 0 ? 0.0f : sum);  // no comparison with NaN holds
    }
    reinterpret_cast<Pack<T, kN>*>(y)[i] = v;
    column += column_step;
    if (column >= columns) column -= columns;
  }
}

// How x[rows, columns, kN] is cut for its sums: a block has `lanes` rows of `width` columns at a
// time, and takes one chunk of the rows.
struct RowCut {
  int64_t columns, rows_of_chunk, chunks;
  int width, lanes;

  RowCut(int64_t rows, int64_t channels, int pack) {
    constexpr int64_t kRowsOfLane = 16, kMostChunks = 512;
    columns = channels / pack;
    width = static_cast<int>(std::min<int64_t>(columns, kThreads));
    lanes = kThreads / width;
    const int64_t wanted = std::clamp<int64_t>(rows / (kRowsOfLane * lanes), 1, kMostChunks);
    rows_of_chunk = (rows + wanted - 1) / wanted;
    chunks = (rows + rows_of_chunk - 1) / rows_of_chunk;
  }
};

// sums[chunk, column, kN]: of one chunk's rows each.
template <typename T, int kN>
__global__ void __launch_bounds__(kThreads) sum_rows_kernel(const T* x, float* sums, int64_t rows, RowCut cut) {
  wait_for_kernels_before();
  __shared__ float shared[kThreads * kN];  // [lane, column, kN]
  const int lane = static_cast<int>(threadIdx.x) / cut.width, at = static_cast<int>(threadIdx.x) % cut.width;
  const int64_t first_column = int64_t{blockIdx.y} * cut.width, column = first_column + at;
  const int64_t begin = int64_t{blockIdx.x} * cut.rows_of_chunk, end = min(begin + cut.rows_of_chunk, rows);
  if (lane < cut.lanes) {
    float sum[kN] = {};
    if (column < cut.columns) {
#pragma unroll 4
      for (int64_t row = begin + lane; row < end; row += cut.lanes) {
        const auto v = reinterpret_cast<const Pack<T, kN>*>(x)[row * cut.columns + column];
#pragma unroll
        for (int k = 0; k < kN; ++k) sum[k] += to_float(v.v[k]);
      }
    }
#pragma unroll
    for (int k = 0; k < kN; ++k) shared[(lane * cut.width + at) * kN + k] = sum[k];
  }
  __syncthreads();
  const int width = cut.width * kN;  // in channels
  for (int c = static_cast<int>(threadIdx.x); c < width; c += kThreads) {
    float sum = 0;
    for (int l = 0; l < cut.lanes; ++l) sum += shared[l * width + c];
    const int64_t channel = first_column * kN + c, channels = cut.columns * kN;
    if (channel < channels) sums[blockIdx.x * channels + channel] = sum;
  }
}

constexpr int kSumColumns = 32, kSumLanes = 16;

__global__ void __launch_bounds__(kSumColumns* kSumLanes)
    sum_partials_kernel(const float* partials, int64_t count, float* sums, int64_t first_n, float* more_sums,
                        int64_t n) {
  wait_for_kernels_before();
  __shared__ float shared[kSumLanes][kSumColumns];
  const int64_t column = int64_t{blockIdx.x} * kSumColumns + threadIdx.x;
  float sum = 0;
  if (column < n) {
#pragma unroll 8
    for (int64_t row = threadIdx.y; row < count; row += kSumLanes) sum += partials[row * n + column];
  }
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= n) return;
  sum = 0;
#pragma unroll
  for (int lane = 0; lane < kSumLanes; ++lane) sum += shared[lane][threadIdx.x];
  (column < first_n ? sums[column] : more_sums[column - first_n]) = sum;
}

template <typename T>
__global__ void __launch_bounds__(kThreads) widen_kernel(const T* from, float* to, int64_t n) {
  wait_for_kernels_before();
  constexpr int kN = kPack<float>;
  const int64_t first = first_index(), step = index_step(), packs = n / kN;
  for (int64_t i = first; i < packs; i += step) {
    const auto v = reinterpret_cast<const Pack<T, kN>*>(from)[i];
    Pack<float, kN> wide;
#pragma unroll
    for (int k = 0; k < kN; ++k) wide.v[k] = to_float(v.v[k]);
    reinterpret_cast<Pack<float, kN>*>(to)[i] = wide;
  }
  for (int64_t i = packs * kN + first; i < n; i += step) to[i] = to_float(from[i]);
}

}  // namespace

void add_bias_relu(DType dtype, void* y, const float* bias, bool relu, int64_t rows, int64_t channels,
                   cudaStream_t stream) {
  if (!bias && !relu) return;
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    with_pack<T>(channels, [&](auto pack) {
      constexpr int kN = decltype(pack)::value;
      const int64_t columns = channels / kN, packs = rows * columns;
      bias_relu_kernel<T, kN>
          <<<blocks_for(packs), kThreads, 0, stream>>>(static_cast<T*>(y), bias, relu, packs, columns);
    });
  });
}

void sum_rows(DType dtype, const void* x, float* sums, int64_t rows, int64_t channels, void* scratch,
              cudaStream_t stream) {
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    with_pack<T>(channels, [&](auto pack) {
      constexpr int kN = decltype(pack)::value;
      const RowCut cut(rows, channels, kN);
      float* const chunk_sums = cut.chunks > 1 ? static_cast<float*>(scratch) : sums;
      const dim3 grid(static_cast<unsigned>(cut.chunks),
                      static_cast<unsigned>((cut.columns + cut.width - 1) / cut.width));
      sum_rows_kernel<T, kN><<<grid, kThreads, 0, stream>>>(static_cast<const T*>(x), chunk_sums, rows, cut);
      if (cut.chunks > 1) sum_partials(chunk_sums, cut.chunks, sums, channels, stream);
    });
  });
}

size_t sum_rows_scratch_bytes(DType dtype, int64_t rows, int64_t channels) {
  return with_type(dtype, [&](auto zero) {
    return with_pack<decltype(zero)>(channels, [&](auto pack) -> size_t {
      const int64_t chunks = RowCut(rows, channels, decltype(pack)::value).chunks;
      return chunks > 1 ? static_cast<size_t>(chunks * channels) * sizeof(float) : 0;
    });
  });
}

void sum_partials(const float* partials, int64_t count, float* sums, int64_t n, float* more_sums, int64_t more_n,
                  cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((n + more_n + kSumColumns - 1) / kSumColumns);
  sum_partials_kernel<<<blocks, dim3(kSumColumns, kSumLanes), 0, stream>>>(partials, count, sums, n, more_sums,
                                                                           n + more_n);
}

void widen(DType dtype, const void* from, float* to, int64_t n, cudaStream_t stream) {
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    widen_kernel<<<blocks_for(n / kPack<float>), kThreads, 0, stream>>>(static_cast<const T*>(from), to, n);
  });
}

}  // namespace troika::cuda
