// Counter-based random numbers: every number is a pure function of a key and a counter, so nothing
// has to be stored.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace troika {

// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): 128 random
// bits for a 64-bit key and a 128-bit counter.
inline std::array<uint32_t, 4> philox(uint64_t key, uint64_t counter_low, uint64_t counter_high) {
  constexpr uint32_t kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;
  constexpr uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  std::array<uint32_t, 4> c = {static_cast<uint32_t>(counter_low), static_cast<uint32_t>(counter_low >> 32),
                               static_cast<uint32_t>(counter_high), static_cast<uint32_t>(counter_high >> 32)};
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{kMultiplier0} * c[0], p1 = uint64_t{kMultiplier1} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  return c;
}

// A number in [0, 1) from 32 random bits; exact in single precision.
inline float to_unit_float(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }

// A number in (0, 1) from 64 random bits.
inline double to_unit_double(uint32_t high, uint32_t low) {
  return (static_cast<double>(((uint64_t{high} << 32 | low) >> 12)) + 0.5) * 0x1p-52;
}

// Returns a 64-bit key of a text, the same in every version (FNV-1a): a parameter's numbers depend
// only on its name.
inline uint64_t hash_name(std::string_view name) {
  uint64_t h = 0xCBF29CE484222325u;
  for (char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return h;
}

}  // namespace troika
