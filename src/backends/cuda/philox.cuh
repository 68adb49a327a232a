// Counter-based random numbers in device code.
#pragma once

#include <cstdint>

namespace troika::cuda {

// philox of core/random.h, whose std::array device code cannot index.
__device__ inline uint4 philox(uint64_t key, uint64_t counter_low, uint64_t counter_high) {
  constexpr uint32_t kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;
  constexpr uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
  auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  uint4 c = {static_cast<uint32_t>(counter_low), static_cast<uint32_t>(counter_low >> 32),
             static_cast<uint32_t>(counter_high), static_cast<uint32_t>(counter_high >> 32)};
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const uint32_t high0 = __umulhi(kMultiplier0, c.x), high1 = __umulhi(kMultiplier1, c.z);
    c = {high1 ^ c.y ^ k0, kMultiplier1 * c.z, high0 ^ c.w ^ k1, kMultiplier0 * c.x};
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  return c;
}

}  // namespace troika::cuda
