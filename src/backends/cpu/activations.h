// tanh and the logistic function, in operations that the compiler vectorises; off by a few units of
// the last place.
#pragma once

#include <bit>
#include <cstdint>

namespace troika::cpu {

// e^x by the polynomial of Cephes (Moshier): x = n ln 2 + r with |r| <= ln 2 / 2. Beyond [-87, 88]
// it stays what it is there; NaN stays NaN.
[[gnu::always_inline]] inline float exp_lane(float x) {
  constexpr float kLog2e = 1.44269504f, kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  constexpr float kRounder = 12582912;  // 1.5 * 2^23: adding it rounds to a whole number, which its low bits then hold
  x = x < -87.0f ? -87.0f : x;
  x = x > 88.0f ? 88.0f : x;
  const float shifted = x * kLog2e + kRounder;
  const float n = shifted - kRounder;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const float power = std::bit_cast<float>((std::bit_cast<int32_t>(shifted) << 23) + (127 << 23));
  return (p * (r * r) + r + 1) * power;
}

[[gnu::always_inline]] inline float sigmoid_lane(float x) { return 1 / (1 + exp_lane(-x)); }

// Near 0 an odd polynomial (Cephes) is used, because 1 - 2 / (e^2x + 1) would cancel there.
[[gnu::always_inline]] inline float tanh_lane(float x) {
  const float a = x < 0 ? -x : x;
  const float far = 1 - 2 / (exp_lane(2 * a) + 1);
  const float z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const float near = p * z * x + x;
  return a < 0.625f ? near : (x < 0 ? -far : far);
}

}  // namespace troika::cpu
