// Sums and flags of replicas, in the order of ranks.
#include "backends/cuda/elements.cuh"
#include "backends/cuda/gpu_group.h"
#include "backends/cuda/grid.cuh"
#include "backends/cuda/kernels.h"

namespace troika::cuda {
namespace {

struct Buffers {
  float* data[kMostSummed];
};

// Each element by one thread, ranks in pairs, then pairs of pairs; so the same bits in every buffer, or in that of rank `only`.
template <int kWidth>
__global__ void sum_kernel(const __grid_constant__ Buffers buffers, int size, int64_t begin, int64_t packs, int only) {
  using Values = Pack<float, kWidth>;
  for (int64_t i = first_index(); i < packs; i += index_step()) {
    Values sums[kMostSummed];
#pragma unroll
    for (int r = 0; r < kMostSummed; ++r)
      if (r < size) sums[r] = reinterpret_cast<const Values*>(buffers.data[r] + begin)[i];
#pragma unroll
    for (int half = 1; half < kMostSummed; half *= 2)
#pragma unroll
      for (int r = 0; r + half < kMostSummed; r += 2 * half)
        if (r + half < size)
          for (int k = 0; k < kWidth; ++k) sums[r].v[k] += sums[r + half].v[k];
    for (int r = 0; r < size; ++r)
      if (only < 0 || r == only) reinterpret_cast<Values*>(buffers.data[r] + begin)[i] = sums[0];
  }
}

struct Flags {
  int32_t* flag[kMostSummed];
};

__global__ void all_of_kernel(const __grid_constant__ Flags flags, int size) {
  bool all = true;
  for (int r = 0; r < size; ++r) all = all && *flags.flag[r] != 0;
  for (int r = 0; r < size; ++r) *flags.flag[r] = all;
}

}  // namespace

void launch_sum(float* const* data, int size, int64_t begin, int64_t count, cudaStream_t stream, int only) {
  Buffers buffers{};
  bool is_aligned = count % 4 == 0;
  for (int r = 0; r < size; ++r) {
    buffers.data[r] = data[r];
    is_aligned = is_aligned && reinterpret_cast<uintptr_t>(data[r] + begin) % sizeof(Pack<float, 4>) == 0;
  }
  if (is_aligned)
    sum_kernel<4><<<blocks_for(count / 4), kThreads, 0, stream>>>(buffers, size, begin, count / 4, only);
  else
    sum_kernel<1><<<blocks_for(count), kThreads, 0, stream>>>(buffers, size, begin, count, only);
  check_launch(cudaGetLastError());
}

void launch_all_of(int32_t* const* flags, int size, cudaStream_t stream) {
  Flags all{};
  for (int r = 0; r < size; ++r) all.flag[r] = flags[r];
  all_of_kernel<<<1, 1, 0, stream>>>(all, size);
  check_launch(cudaGetLastError());
}

}  // namespace troika::cuda
