// Tests of the 16-bit formats over all bit patterns, compared with the compiler's half type if it
// has one.
#include "core/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace troika {
namespace {

TEST(Float16, EveryNumberComesBackFromFloat) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    if (std::isnan(float_of_f16(half)))
      EXPECT_TRUE(std::isnan(float_of_f16(f16_of_float(float_of_f16(half)))));
    else
      EXPECT_EQ(f16_of_float(float_of_f16(half)), half);
    if (std::isnan(float_of_bf16(half)))
      EXPECT_TRUE(std::isnan(float_of_bf16(bf16_of_float(float_of_bf16(half)))));
    else
      EXPECT_EQ(bf16_of_float(float_of_bf16(half)), half);
  }
}

// A number between two neighbours is rounded to the nearer, and in the middle to the even
// neighbour.
TEST(Float16, RoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const auto low = static_cast<uint16_t>(bits), high = static_cast<uint16_t>(bits + 1);
    const float a = float_of_f16(low), b = float_of_f16(high), middle = (a + b) / 2;  // exact
    EXPECT_EQ(f16_of_float(middle), low % 2 == 0 ? low : high);
    EXPECT_EQ(f16_of_float(std::nextafter(middle, 0.0f)), low);
    EXPECT_EQ(f16_of_float(std::nextafter(middle, 1e30f)), high);
    EXPECT_EQ(f16_of_float(-middle), (low % 2 == 0 ? low : high) | 0x8000);
  }
  for (uint32_t bits = 0x80; bits < 0x7f7f; ++bits) {
    const auto low = static_cast<uint16_t>(bits), high = static_cast<uint16_t>(bits + 1);
    const float a = float_of_bf16(low), b = float_of_bf16(high), middle = a / 2 + b / 2;
    EXPECT_EQ(bf16_of_float(middle), low % 2 == 0 ? low : high);
    EXPECT_EQ(bf16_of_float(std::nextafter(middle, 0.0f)), low);
    EXPECT_EQ(bf16_of_float(std::nextafter(middle, std::numeric_limits<float>::infinity())), high);
  }
}

TEST(Float16, TooLargeBecomesInfinite) {
  EXPECT_EQ(f16_of_float(65519.0f), 0x7bff);
  EXPECT_EQ(f16_of_float(65520.0f), 0x7c00);
  EXPECT_EQ(f16_of_float(-1e30f), 0xfc00);
  EXPECT_EQ(bf16_of_float(3.4e38f), 0x7f80);
  EXPECT_EQ(bf16_of_float(-std::numeric_limits<float>::infinity()), 0xff80);
}

}  // namespace
}  // namespace troika
