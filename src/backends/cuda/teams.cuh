// How the blocks of a cooperative launch wait for each other, in teams.
#pragma once

#include "backends/cuda/check.h"

namespace troika::cuda {

constexpr int kMostInTeam = 32;  // blocks: a warp reads all their flags at once

// Says that this block has come to `round`. Blocks that have waited for the flag can then read what
// its threads wrote before they met.
__device__ inline void raise_flag(unsigned* flag, unsigned round) {
  __threadfence();
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(round) : "memory");
}

__device__ inline void wait_for_flag(const unsigned* flag, unsigned round) {
  unsigned found;
  do {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(found) : "l"(flag) : "memory");
  } while (found < round);
}

// Launches a kernel all of whose blocks run at once. `most_bytes`: of shared memory, in any launch
// of the kernel: the attribute belongs to the kernel, and other threads may launch it, too.
template <typename... Parameters, typename... Values>
void launch_together(void (*kernel)(Parameters...), dim3 blocks, int threads, size_t shared_bytes, size_t most_bytes,
                     cudaStream_t stream, const Values&... values) {
  check_launch(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(most_bytes)));
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = static_cast<unsigned>(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &cooperative;
  config.numAttrs = 1;
  check_launch(cudaLaunchKernelEx(&config, kernel, values...));
}

}  // namespace troika::cuda
