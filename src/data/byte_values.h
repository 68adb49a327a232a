// The values of bytes, for samples that are stored as bytes.
#pragma once

#include <array>
#include <cstdint>

namespace troika {

// Byte p as the number (p / 255 - mean) / std, computed in f32 throughout, as PyTorch does.
// INVALID_ARGUMENT, which begins with `what`, if a value is not finite.
std::array<float, 256> byte_values(double mean, double std, const char* what);
// Byte p as the token p.
const std::array<int32_t, 256>& byte_tokens();

}  // namespace troika
