// The numbers of the golden files, which come from one hash (README.md).
#pragma once

#include <cstdint>
#include <vector>

namespace troika::golden {

inline uint32_t hash32(uint32_t t, uint32_t i) {
  uint32_t h = i + t * 0x9E3779B1u;
  h ^= h >> 16;
  h *= 0x85EBCA6Bu;
  h ^= h >> 13;
  h *= 0xC2B2AE35u;
  return h ^ h >> 16;
}

// In [-0.5, 0.5).
inline double unit(uint32_t t, uint32_t i) { return (hash32(t, i) >> 8) / 16777216.0 - 0.5; }

inline std::vector<float> units(uint32_t t, int64_t count, double scale = 1) {
  std::vector<float> drawn;
  for (uint32_t i = 0; i < count; ++i) drawn.push_back(static_cast<float>(unit(t, i) * scale));
  return drawn;
}

inline std::vector<int32_t> integers(uint32_t t, int64_t count, uint32_t below) {
  std::vector<int32_t> drawn;
  for (uint32_t i = 0; i < count; ++i) drawn.push_back(static_cast<int32_t>(hash32(t, i) % below));
  return drawn;
}

}  // namespace troika::golden
