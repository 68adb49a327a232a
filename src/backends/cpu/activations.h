// The exponential function, the logarithm, tanh, the logistic function and GELU, in operations that
// the compiler vectorises; off by a few units of the last place.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace troika::cpu {

constexpr float kLog2e = 1.44269504f, kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
constexpr float kRounder = 12582912;  // 1.5 * 2^23: adding it rounds to a whole number, which its low bits then hold

// 2^n e^r by the polynomial of Cephes (Moshier), with |r| <= ln 2 / 2. `shifted` is n + kRounder.
[[gnu::always_inline]] inline float exp_of_parts(float shifted, float r) {
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const float power = std::bit_cast<float>((std::bit_cast<uint32_t>(shifted) << 23) + (127u << 23));
  return (p * (r * r) + r + 1) * power;
}

// e^x. Beyond [-87, 88] it stays what it is there; NaN stays NaN.
[[gnu::always_inline]] inline float exp_lane(float x) {
  x = x < -87.0f ? -87.0f : x;
  x = x > 88.0f ? 88.0f : x;
  const float shifted = x * kLog2e + kRounder;
  const float n = shifted - kRounder;
  return exp_of_parts(shifted, (x - n * kLn2High) - n * kLn2Low);
}

// e^x for every x: 0 and infinity beyond the numbers that f32 has.
[[gnu::always_inline]] inline float exp_of_any_lane(float x) {
  const float root = exp_lane(0.5f * x);
  return root * root;
}

// The natural logarithm, by the polynomial of Cephes (Moshier). -infinity at 0, NaN below; infinity
// and NaN stay.
[[gnu::always_inline]] inline float log_lane(float x) {
  constexpr float kLeastNormal = 1.17549435e-38f, kSubnormalFactor = 8388608;  // 2^23
  const bool is_subnormal = x < kLeastNormal;
  const uint32_t bits = std::bit_cast<uint32_t>(is_subnormal ? x * kSubnormalFactor : x);
  // x = m 2^e, with m from sqrt(1/2) to sqrt(2). Unsigned: a number below 0 may wrap around.
  const uint32_t shifted = bits - 0x3f3504f3u;
  const float e = static_cast<float>(static_cast<int32_t>(shifted) >> 23) - (is_subnormal ? 23.0f : 0.0f);
  const float m = std::bit_cast<float>((shifted & 0x007fffffu) + 0x3f3504f3u) - 1, z = m * m;
  float p = 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  const float y = ((p * m * z + e * kLn2Low) - 0.5f * z + m) + e * kLn2High;
  const float not_above = x == 0 ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  const float above = x < std::numeric_limits<float>::infinity() ? y : x;
  return x > 0 ? above : not_above;
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

// The standard normal distribution at a distance from 0, in factors: the probability of the tail
// beyond `distance` is mills * bell, and the density there is bell / sqrt(2 pi).
struct NormalTail {
  float distance;  // |x|, at most kNoTail
  float mills;
  float bell;  // e^(-x^2 / 2); 0 from kNoTail on
};
constexpr float kNoTail = 13.2f;  // from here on, e^(-x^2 / 2) is below 1.5e-38 and counts as 0

[[gnu::always_inline]] inline NormalTail normal_tail_lane(float x) {
  float a = x < 0 ? -x : x;
  a = a > kNoTail ? kNoTail : a;
  // mills / t is a polynomial of u, with a relative error of at most 4e-9. It interpolates
  // mills / t at Chebyshev's points of the range of t.
  const float t = 1 / (1 + 0.24f * a), u = t - 0.5f;
  float p = 2.541520644e-02f;
  p = p * u - 9.677039866e-03f;
  p = p * u - 6.333689893e-02f;
  p = p * u - 2.953881838e-02f;
  p = p * u + 1.159657445e-01f;
  p = p * u + 2.949637724e-01f;
  p = p * u + 4.018984214e-01f;
  p = p * u + 3.918667856e-01f;
  p = p * u + 2.974253807e-01f;
  p = p * u + 1.819686720e-01f;
  // e^(high + low) = e^(-a^2 / 2). The square of `head`, the upper half of a's bits, is exact. If
  // a^2 were rounded, the tail would be off by 5e-6.
  const float head = std::bit_cast<float>(std::bit_cast<uint32_t>(a) & 0xfffff000u);
  const float high = -0.5f * head * head, low = -0.5f * (a - head) * (a + head);
  const float shifted = (high + low) * kLog2e + kRounder;
  const float n = shifted - kRounder;
  const float bell = exp_of_parts(shifted, ((high - n * kLn2High) - n * kLn2Low) + low);
  return {a, p * t, a >= kNoTail ? 0.0f : bell};
}

// x Phi(x), which is max(x, 0) - |x| Phi(-|x|). -infinity becomes 0; NaN stays NaN.
[[gnu::always_inline]] inline float gelu_lane(float x) {
  const NormalTail tail = normal_tail_lane(x);
  return (x > 0 ? x : 0.0f) - tail.distance * tail.mills * tail.bell;
}

// The slope of x Phi(x): Phi(x) + x phi(x). It is 0 at -infinity and 1 at infinity; NaN stays NaN.
[[gnu::always_inline]] inline float gelu_slope_lane(float x) {
  constexpr float kDensityOfBell = 0.398942280f;  // 1 / sqrt(2 pi)
  const NormalTail tail = normal_tail_lane(x);
  const float below = (tail.mills - kDensityOfBell * tail.distance) * tail.bell;  // the slope at -|x|
  return x > 0 ? 1 - below : below;
}

}  // namespace troika::cpu
