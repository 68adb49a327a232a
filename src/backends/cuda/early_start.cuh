// How a kernel begins that may start before the kernel before it has ended.
#pragma once

namespace troika::cuda {

// The first statement of every kernel. In a recording, a kernel's blocks may start while the last
// blocks of the kernel before still run (early_starts.h). Returns when all kernels before have
// ended and their results can be read. Then the blocks of the next kernel may start.
__device__ inline void wait_for_kernels_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace troika::cuda
