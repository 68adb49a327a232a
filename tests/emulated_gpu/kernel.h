// CUDA's kernel language as C++: translate.py puts this header before a kernel's file. It
// translates launches to `launch`.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <vector_functions.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>

#include "gpu.h"

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __constant__
#undef __launch_bounds__
#undef __forceinline__
#undef __grid_constant__
#undef __align__
#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __constant__
#define __launch_bounds__(...)
#define __forceinline__ inline
#define __grid_constant__
#define __align__(bytes) alignas(bytes)

namespace emulated_gpu {

struct Index {
  unsigned x = 0, y = 0, z = 0;
};

// The indices of the running thread.
extern Index thread_index, block_index, block_size, grid_size;

// Enqueues the kernel `function`, which runs `thread` once for each thread of each block. Blocks
// and threads run in an order drawn by lot. If the grid or the stream is invalid, sets the last
// error, as a launch does.
void launch_threads(const void* function, dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
                    std::function<void()> thread);

// Whether launches of the kernel, whose name may have template arguments, lose their first block.
bool loses_block(const char* name);

template <typename Kernel, typename... Values>
void launch(const char* name, dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream, Kernel kernel,
            const Values&... values) {
  const bool is_faulty = loses_block(name);
  static const char function = 0;  // stands for the kernel: an address in the same library
  launch_threads(&function, grid, block, shared_bytes, stream,
                 [is_faulty, kernel, held = std::tuple<std::decay_t<const Values>...>(values...)] {
                   if (!is_faulty || block_index.x + block_index.y + block_index.z > 0) std::apply(kernel, held);
                 });
}

// Waits for every thread of the block that has not ended.
void barrier();
// Waits as barrier() does, and returns whether `value` is true on all threads.
bool barrier_and(bool value);
// Offers 8 bytes to the threads of the warp and returns the 8 bytes of lane `from`. Waits for all
// 32 threads of the warp, or fewer if the block has fewer.
uint64_t exchange(uint64_t bits, unsigned from);
void* dynamic_shared();
uint64_t block_number();  // counts all blocks that have ever run

// Fills a shared variable with NaN when a block begins. `block` is the last block that did so.
template <typename Variable>
void poison_once(Variable& variable, uint64_t& block) {
  if (block == block_number()) return;
  block = block_number();
  std::memset(static_cast<void*>(&variable), 0xff, sizeof variable);
}

}  // namespace emulated_gpu

#define threadIdx emulated_gpu::thread_index
#define blockIdx emulated_gpu::block_index
#define blockDim emulated_gpu::block_size
#define gridDim emulated_gpu::grid_size
#define __syncthreads() emulated_gpu::barrier()
#define __syncthreads_and(value) emulated_gpu::barrier_and(value)

using std::isfinite;
using std::isnan;
using std::max;
using std::min;
inline int min(int a, unsigned b) { return std::min<int>(a, static_cast<int>(b)); }
inline unsigned min(unsigned a, int b) { return std::min<unsigned>(a, static_cast<unsigned>(b)); }

inline void __threadfence() {}
inline void __syncwarp(unsigned = ~0u) { emulated_gpu::exchange(0, 0); }
inline float normcdff(float x) { return static_cast<float>(0.5 * std::erfc(-static_cast<double>(x) / std::sqrt(2.0))); }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(uint64_t{a} * b >> 32); }

template <typename T>
T __ldcg(const T* from) {
  return *from;
}
template <typename T>
void __stcg(T* to, T value) {
  *to = value;
}
template <typename T>
T __ldg(const T* from) {
  return *from;
}

template <typename T>
T atomicExch(T* at, T value) {
  return std::exchange(*at, value);
}
template <typename T>
T atomicAdd(T* at, T value) {
  const T old = *at;
  *at += value;
  return old;
}
inline unsigned atomicInc(unsigned* at, unsigned most) {
  const unsigned old = *at;
  *at = old >= most ? 0 : old + 1;
  return old;
}

template <typename T>
T __shfl_sync(unsigned, T value, unsigned from) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = emulated_gpu::exchange(bits, from);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline unsigned emulated_lane() { return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32; }
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, unsigned distance) {
  return __shfl_sync(mask, value, emulated_lane() ^ distance);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance) {
  const unsigned lane = emulated_lane();
  return __shfl_sync(mask, value, lane + distance < 32 ? lane + distance : lane);
}
