// Compares tanh and the logistic function of the CPU's recurrent kernels, which are computed by
// polynomials, with the C library's functions in double.
#include "backends/cpu/activations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

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

TEST(Activations, EndAtTheirLimits) {
  for (float x : {100.0f, 1e30f, HUGE_VALF}) {
    EXPECT_EQ(tanh_lane(x), 1);
    EXPECT_EQ(tanh_lane(-x), -1);
    EXPECT_EQ(sigmoid_lane(x), 1);
    EXPECT_LT(sigmoid_lane(-x), 1e-37f);
    EXPECT_GE(sigmoid_lane(-x), 0);
  }
  EXPECT_EQ(tanh_lane(0), 0);
  EXPECT_EQ(sigmoid_lane(0), 0.5f);
}

TEST(Activations, LeaveNaNVisible) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(tanh_lane(nan)));
  EXPECT_TRUE(std::isnan(sigmoid_lane(nan)));
}

}  // namespace
}  // namespace troika::cpu
