// Packs of four sums of a weight's gradient. Blocks write partial sums, and one block adds up those
// of all.
#pragma once

#include <cstdint>

namespace troika::cuda::hopper {

// Pack j of a thread's sums.
__device__ inline float4 pack_of(const float* sums, int j) {
  return {sums[4 * j], sums[4 * j + 1], sums[4 * j + 2], sums[4 * j + 3]};
}

__device__ inline void add_to(float4& sum, const float4& more) {
  sum.x += more.x;
  sum.y += more.y;
  sum.z += more.z;
  sum.w += more.w;
}

// Writes a pack: two rows of dweights, 8 apart, and two columns of each. `row`: numbers of a row.
__device__ inline void store_pack(float* to, int64_t row, const float4& pack) {
  *reinterpret_cast<float2*>(to) = {pack.x, pack.y};
  *reinterpret_cast<float2*>(to + 8 * row) = {pack.z, pack.w};
}

}  // namespace troika::cuda::hopper
