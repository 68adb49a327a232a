// Compares tanh, the logistic function and GELU of the CPU's kernels, which are computed by
// polynomials, with the C library's functions in double.
#include "backends/cpu/activations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace troika::cpu {
namespace {

// Returns the distance in units of the last place of the right value.
double ulps(float found, double right) {
  const auto nearest = static_cast<float>(right);
  const float above = std::nextafter(std::abs(nearest), HUGE_VALF);
  return std::abs(static_cast<double>(found) - right) / static_cast<double>(above - std::abs(nearest));
}

// Visits every 1,009th float between -90 and 90, over all magnitudes that floats have.
template <typename Check>
void for_many(Check&& check) {
  for (uint32_t bits = 0; bits < std::bit_cast<uint32_t>(90.0f); bits += 1009)
    for (float sign : {1.0f, -1.0f}) check(sign * std::bit_cast<float>(bits));
}

TEST(Activations, AreOffByAFewUnitsOfTheLastPlace) {
  double tanh_off = 0, sigmoid_off = 0;
  for_many([&](float x) {
    const auto wide = static_cast<double>(x);
    tanh_off = std::max(tanh_off, ulps(tanh_lane(x), std::tanh(wide)));
    if (x > -87) sigmoid_off = std::max(sigmoid_off, ulps(sigmoid_lane(x), 1 / (1 + std::exp(-wide))));
  });
  EXPECT_LE(tanh_off, 3);
  EXPECT_LE(sigmoid_off, 3);
}

double gelu_of(double x) { return x * 0.5 * std::erfc(-x / std::numbers::sqrt2); }

double gelu_slope_of(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2) +
         x * std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

// Also in the lower tail, in which 1 + erf would cancel. The slope is 0 near -0.75; around this
// place only its absolute error is small.
TEST(Activations, OfTheNormalDistributionAreOffByAFewUnitsOfTheLastPlace) {
  double gelu_off = 0, slope_off = 0, slope_off_near_0 = 0, tail_off = 0;
  for_many([&](float x) {
    const auto wide = static_cast<double>(x);
    if (x <= -kNoTail) {
      tail_off = std::max({tail_off, std::abs(static_cast<double>(gelu_lane(x)) - gelu_of(wide)),
                           std::abs(static_cast<double>(gelu_slope_lane(x)) - gelu_slope_of(wide))});
      return;
    }
    // Products below the normal numbers lose places.
    if (std::abs(gelu_of(wide)) > 1.2e-38) gelu_off = std::max(gelu_off, ulps(gelu_lane(x), gelu_of(wide)));
    slope_off_near_0 =
        std::max(slope_off_near_0, std::abs(static_cast<double>(gelu_slope_lane(x)) - gelu_slope_of(wide)));
    if (x < -1.5f || x > -0.25f) slope_off = std::max(slope_off, ulps(gelu_slope_lane(x), gelu_slope_of(wide)));
  });
  EXPECT_LE(gelu_off, 8);
  EXPECT_LE(slope_off, 8);
  EXPECT_LE(slope_off_near_0, 3e-7);
  EXPECT_LE(tail_off, 1e-37);
}

TEST(Activations, EndAtTheirLimits) {
  for (float x : {100.0f, 1e30f, HUGE_VALF}) {
    EXPECT_EQ(tanh_lane(x), 1);
    EXPECT_EQ(tanh_lane(-x), -1);
    EXPECT_EQ(sigmoid_lane(x), 1);
    EXPECT_LT(sigmoid_lane(-x), 1e-37f);
    EXPECT_GE(sigmoid_lane(-x), 0);
    EXPECT_EQ(gelu_lane(x), x);
    EXPECT_EQ(gelu_lane(-x), 0);
    EXPECT_EQ(gelu_slope_lane(x), 1);
    EXPECT_EQ(gelu_slope_lane(-x), 0);
  }
  EXPECT_EQ(tanh_lane(0), 0);
  EXPECT_EQ(sigmoid_lane(0), 0.5f);
  EXPECT_EQ(gelu_lane(0), 0);
  EXPECT_NEAR(gelu_slope_lane(0), 0.5f, 1e-7f);
}

TEST(Activations, LeaveNaNVisible) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(tanh_lane(nan)));
  EXPECT_TRUE(std::isnan(sigmoid_lane(nan)));
  EXPECT_TRUE(std::isnan(gelu_lane(nan)));
  EXPECT_TRUE(std::isnan(gelu_slope_lane(nan)));
}

}  // namespace
}  // namespace troika::cpu
