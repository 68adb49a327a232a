// The 16-bit floating-point formats as bits: bfloat16 (8-bit exponent) and IEEE half (5-bit), to
// and from float.
#pragma once

#include <bit>
#include <cstdint>

namespace troika {

constexpr float float_of_bf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

// Rounds to nearest even; NaN stays a (quiet) NaN.
constexpr uint16_t bf16_of_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40 : rounded);
}

constexpr float float_of_f16(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16, exponent = half >> 10 & 0x1f,
                 fraction = half & 0x3ff;
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  const uint32_t wide = exponent == 31 ? 255 : exponent + (127 - 15);
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

// Rounds to nearest even. Numbers that are too large become infinite; NaN stays a (quiet) NaN.
constexpr uint16_t f16_of_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00);
  if (magnitude >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);  // from 65520 on
  if (magnitude < 0x38800000) {  // below 2^-14: the sum with 0.5 rounds, and leaves the fraction in units of 2^-24
    const float sum = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(sum) - 0x3f000000));
  }
  const uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1) - ((127 - 15) << 23);
  return static_cast<uint16_t>(sign | rounded >> 13);
}

}  // namespace troika
