// Sums and flags of replicas, in the order of ranks.
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/gpu_group.h"
#include "backends/cuda/grid.cuh"
#include "backends/cuda/kernels.h"

namespace troika::cuda {
namespace {

struct Buffers {
  void* data[kMostSummed];
};

// Each element by one thread, ranks in pairs, then pairs of pairs; so the same bits in every
// buffer, or in that of rank `only`.
template <typename T, int kWidth>
__global__ void sum_kernel(const __grid_constant__ Buffers buffers, int size, int64_t begin, int64_t packs, int only) {
  wait_for_kernels_before();
  using Values = Pack<T, kWidth>;
  for (int64_t i = first_index(); i < packs; i += index_step()) {
    Values sums[kMostSummed];
#pragma unroll
    for (int r = 0; r < kMostSummed; ++r)
      if (r < size) sums[r] = reinterpret_cast<const Values*>(static_cast<const T*>(buffers.data[r]) + begin)[i];
#pragma unroll
    for (int half = 1; half < kMostSummed; half *= 2)
#pragma unroll
      for (int r = 0; r + half < kMostSummed; r += 2 * half)
        if (r + half < size)
          for (int k = 0; k < kWidth; ++k) sums[r].v[k] += sums[r + half].v[k];
    for (int r = 0; r < size; ++r)
      if (only < 0 || r == only) reinterpret_cast<Values*>(static_cast<T*>(buffers.data[r]) + begin)[i] = sums[0];
  }
}

__global__ void all_of_kernel(const __grid_constant__ Buffers flags, int size) {
  wait_for_kernels_before();
  bool all = true;
  for (int r = 0; r < size; ++r) all = all && *static_cast<const int32_t*>(flags.data[r]) != 0;
  for (int r = 0; r < size; ++r) *static_cast<int32_t*>(flags.data[r]) = all;
}

Buffers buffers_of(void* const* data, int size) {
  Buffers buffers{};
  for (int r = 0; r < size; ++r) buffers.data[r] = data[r];
  return buffers;
}

// Uses packs of 16 bytes if every buffer allows them.
template <typename T>
void launch_sum_of(const Buffers& buffers, int size, int64_t begin, int64_t count, cudaStream_t stream, int only) {
  constexpr int kWidth = kPack<T>;
  bool is_aligned = count % kWidth == 0;
  for (int r = 0; r < size; ++r)
    is_aligned = is_aligned && reinterpret_cast<uintptr_t>(static_cast<T*>(buffers.data[r]) + begin) % 16 == 0;
  if (is_aligned)
    sum_kernel<T, kWidth>
        <<<blocks_for(count / kWidth), kThreads, 0, stream>>>(buffers, size, begin, count / kWidth, only);
  else
    sum_kernel<T, 1><<<blocks_for(count), kThreads, 0, stream>>>(buffers, size, begin, count, only);
  check_launch(cudaGetLastError());
}

}  // namespace

void launch_sum(DType dtype, void* const* data, int size, int64_t begin, int64_t count, cudaStream_t stream, int only) {
  with_sum_type(dtype, [&](auto zero) {
    launch_sum_of<decltype(zero)>(buffers_of(data, size), size, begin, count, stream, only);
  });
}

void launch_all_of(void* const* flags, int size, cudaStream_t stream) {
  all_of_kernel<<<1, 1, 0, stream>>>(buffers_of(flags, size), size);
  check_launch(cudaGetLastError());
}

}  // namespace troika::cuda
