// The sum of a block's numbers, always in the same order.
#pragma once

namespace troika::cuda {

// For thread 0. `slots`: shared, one a thread, whose number is a power of two.
template <typename Number>
__device__ Number block_sum(Number value, Number* slots) {
  slots[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) slots[threadIdx.x] += slots[threadIdx.x + half];
    __syncthreads();
  }
  return slots[0];
}

}  // namespace troika::cuda
