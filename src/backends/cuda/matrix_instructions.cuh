// Instructions by which warps multiply matrices (mma.sync), and load and copy them, on GPUs of
// compute capability 8.0 and later. Shared memory has 32-bit addresses.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "backends/cuda/check.h"

namespace troika::cuda {

__device__ inline uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

// Fragments of 8 x 8 matrices of 16 bits: matrix i has the rows of 16 bytes at the addresses of
// lanes 8 i to 8 i + 7. Lane l has two elements of row l / 4, from column 2 (l % 4) on; of the
// transpose, if `kTranspose`. A row may as well be four numbers of 32 bits: then the lane has one.
template <bool kTranspose>
__device__ inline void load_matrices(uint32_t (&r)[4], uint32_t address) {
  if constexpr (kTranspose)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}
// Two matrices, whose rows are at the addresses of lanes 0 to 15.
template <bool kTranspose>
__device__ inline void load_matrices(uint32_t (&r)[2], uint32_t address) {
  if constexpr (kTranspose)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(address)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(address)
                 : "memory");
}

// A number of 32 bits, rounded to the nearest of TF32; NaN stays.
__device__ inline uint32_t round_to_tf32(uint32_t bits) {
  uint32_t rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(__uint_as_float(bits)));
  return rounded;
}

// A word of shared memory.
__device__ inline uint32_t load_word(uint32_t address) {
  uint32_t word;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
  return word;
}

// d [16, 8] += a [16, 16] b [16, 8]. a: the fragments of its matrices (rows, columns) at (0, 0),
// (8, 0), (0, 8) and (8, 8). b: the fragments of the transposes of its rows 0 to 7 and 8 to 15.
// Lane l has of d the row l / 4, from column 2 (l % 4) on, and the same of the row 8 later.
// With T float the depth is 8 in place of 16, a fragment has four columns of 32 bits, and numbers
// are cut to TF32.
template <typename T>
__device__ inline void multiply(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  if constexpr (std::is_same_v<T, float>)
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else if constexpr (std::is_same_v<T, __half>)
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, "
        "%2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Copies 4, 8 or 16 bytes to shared memory, late; zeros, if not `is_there`.
template <int kBytes>
__device__ inline void begin_copy(uint32_t to, const void* from, bool is_there = true) {
  if constexpr (kBytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(is_there ? 16 : 0)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(kBytes),
                 "r"(is_there ? kBytes : 0)
                 : "memory");
}
// Makes a group of this thread's copies since the last group.
__device__ inline void end_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits for all but the last `kLeft` groups of this thread.
template <int kLeft>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

// Launches a kernel with more than 48 KiB of shared memory.
template <typename... Parameters, typename... Values>
void launch_with_shared(void (*kernel)(Parameters...), dim3 blocks, int threads, size_t shared_bytes,
                        cudaStream_t stream, const Values&... values) {
  check_launch(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)));
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = static_cast<unsigned>(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  check_launch(cudaLaunchKernelEx(&config, kernel, values...));
}

}  // namespace troika::cuda
