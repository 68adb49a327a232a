// The sum of a block's numbers, always in the same order.
#pragma once

namespace troika::cuda {

// Returns the sum to thread 0. `slots` is shared, one per thread; the number of threads is a power
// of two.
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
