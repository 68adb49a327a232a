// Where a thread stands in a grid of one dimension, for loops over more work than the grid has
// threads.
#pragma once

#include <cstdint>

namespace troika::cuda {

__device__ inline int64_t first_index() { return int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ inline int64_t index_step() { return int64_t{gridDim.x} * blockDim.x; }

}  // namespace troika::cuda
