// Blocks in software that wait for each other: stands in for backends/cuda/teams.cuh, whose
// comments say what each function does.
#pragma once

#include "blocks.h"
#include "kernel.h"
#include "matrix_instructions.h"

namespace troika::cuda {

constexpr int kMostInTeam = 32;

inline bool& waits_for_flags() {
  static bool waits = true;  // false: a launch has lost a block, for which the others do not wait
  return waits;
}

inline void raise_flag(unsigned* flag, unsigned round) { *flag = round; }
inline void wait_for_flag(const unsigned* flag, unsigned round) {
  while (*flag < round && waits_for_flags()) emulated_gpu::yield();
}

template <typename... Parameters, typename... Values>
void launch_together(void (*kernel)(Parameters...), dim3 blocks, int threads, size_t shared_bytes, size_t most_bytes,
                     cudaStream_t stream, const Values&... values) {
  if (shared_bytes > most_bytes) emulated_gpu::stop("a launch has more shared memory than its kernel may have");
  const bool is_faulty = emulated_gpu::loses_block_with(__PRETTY_FUNCTION__);
  emulated_gpu::launch_with_instructions(
      reinterpret_cast<const void*>(kernel), blocks, dim3(static_cast<unsigned>(threads)), shared_bytes, true, stream,
      [is_faulty, kernel, held = std::tuple<std::decay_t<const Values>...>(values...)] {
        waits_for_flags() = !is_faulty;
        if (!is_faulty || emulated_gpu::block_index.x > 0) std::apply(kernel, held);
      });
}

}  // namespace troika::cuda
