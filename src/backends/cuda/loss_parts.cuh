// Losses and numbers of correct labels of blocks, which one block adds up.
#pragma once

#include <cstdint>

#include "backends/cuda/block_sum.cuh"

namespace troika::cuda {

// A block of kSize threads adds up the parts, always in the same order. `corrects` and `correct`
// may be null.
template <int kSize>
__device__ inline void sum_parts(const double* losses, const int64_t* corrects, int64_t parts, double* loss,
                                 int64_t* correct) {
  __shared__ double loss_slots[kSize];
  __shared__ int64_t correct_slots[kSize];
  double loss_sum = 0;
  int64_t correct_sum = 0;
  for (int64_t i = threadIdx.x; i < parts; i += kSize) {
    loss_sum += __ldcg(&losses[i]);
    if (corrects) correct_sum += __ldcg(&corrects[i]);
  }
  loss_sum = block_sum(loss_sum, loss_slots);
  if (threadIdx.x == 0) *loss = loss_sum;
  if (!corrects) return;
  correct_sum = block_sum(correct_sum, correct_slots);
  if (threadIdx.x == 0) *correct = correct_sum;
}

}  // namespace troika::cuda
