// Matrix products of warps in software: stands in for backends/cuda/matrix_instructions.cuh, whose
// comments say what each function does. Copies are carried out late, at a time drawn by lot, so
// that a kernel which does not wait for them computes wrong results.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "blocks.h"
#include "kernel.h"

namespace emulated_gpu {

enum class MatrixElement { bf16, f16, f32 };

void load_matrices(bool transposes, uint32_t* fragments, int count, uint32_t address);
void multiply(MatrixElement element, float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]);
uint32_t round_to_tf32(uint32_t bits);
uint32_t load_word(uint32_t address);
void begin_copy(int bytes, uint32_t to, const void* from, bool is_there);
void end_copies();
void wait_for_copies(size_t left);

// Whether launches of a kernel lose their first block, if its parameters have a type of which this
// text has the name.
bool loses_block_with(const char* parameters);

}  // namespace emulated_gpu

namespace troika::cuda {

using emulated_gpu::end_copies;
using emulated_gpu::load_word;
using emulated_gpu::round_to_tf32;
using emulated_gpu::shared_address;

template <bool kTranspose, int kCount>
void load_matrices(uint32_t (&r)[kCount], uint32_t address) {
  static_assert(kCount == 4 || kCount == 2);
  emulated_gpu::load_matrices(kTranspose, r, kCount, address);
}

template <typename T>
void multiply(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  using emulated_gpu::MatrixElement;
  constexpr MatrixElement kElement = std::is_same_v<T, float>    ? MatrixElement::f32
                                     : std::is_same_v<T, __half> ? MatrixElement::f16
                                                                 : MatrixElement::bf16;
  emulated_gpu::multiply(kElement, d, a, b);
}

template <int kBytes>
void begin_copy(uint32_t to, const void* from, bool is_there = true) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
  emulated_gpu::begin_copy(kBytes, to, from, is_there);
}
template <int kLeft>
void wait_for_copies() {
  emulated_gpu::wait_for_copies(kLeft);
}

template <typename... Parameters, typename... Values>
void launch_with_shared(void (*kernel)(Parameters...), dim3 blocks, int threads, size_t shared_bytes,
                        cudaStream_t stream, const Values&... values) {
  const bool is_faulty = emulated_gpu::loses_block_with(__PRETTY_FUNCTION__);
  emulated_gpu::launch_with_instructions(
      reinterpret_cast<const void*>(kernel), blocks, dim3(static_cast<unsigned>(threads)), shared_bytes, false, stream,
      [is_faulty, kernel, held = std::tuple<std::decay_t<const Values>...>(values...)] {
        if (!is_faulty || emulated_gpu::block_index.x > 0) std::apply(kernel, held);
      });
}

}  // namespace troika::cuda
