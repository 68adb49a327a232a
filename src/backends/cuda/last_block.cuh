// The last block of a launch, or of a part of it, goes on with what the others have written.
#pragma once

namespace troika::cuda {

// Whether this block is the last of so many to come here. It then sees what threads of the others
// that `has_written` wrote before; the rest need not wait for their stores. `arrived`: a number, 0
// before the launch and after it.
__device__ inline bool is_last_block(unsigned* arrived, unsigned blocks, bool has_written) {
  __shared__ bool is_last;
  if (has_written) __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicInc(arrived, blocks - 1) == blocks - 1;
  __syncthreads();
  if (is_last) __threadfence();
  return is_last;
}

}  // namespace troika::cuda
