// Compares BilinearResize with numbers that PyTorch 2.15 computed.
#include "core/bilinear_resize.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace troika {
namespace {

struct Point {
  int64_t row, column;
  float value;
};

// The image of the tables: pixel (i, j) is (7 i + 13 j + 3 i j) mod 256, 28 by 28, normalised as
// Fashion-MNIST is.
std::vector<float> resize_test_image(int64_t height, int64_t width) {
  std::vector<uint8_t> pixels;
  for (int i = 0; i < 28; ++i)
    for (int j = 0; j < 28; ++j) pixels.push_back(static_cast<uint8_t>(7 * i + 13 * j + 3 * i * j));
  std::array<float, 256> values;
  for (size_t p = 0; p < 256; ++p) values[p] = (static_cast<float>(p) / 255.0f - 0.2860f) / 0.3530f;
  std::vector<float> out(static_cast<size_t>(height * width), std::nanf(""));
  BilinearResize(28, 28, height, width).resize(pixels.data(), values.data(), out.data());
  return out;
}

// `sum` and `squares` are over the whole image, so that every pixel is checked.
void expect_image(int64_t height, int64_t width, const std::vector<Point>& points, double sum, double squares) {
  const std::vector<float> image = resize_test_image(height, width);
  for (const Point& p : points)
    EXPECT_NEAR(image[static_cast<size_t>(p.row * width + p.column)], p.value, 5e-7) << p.row << ", " << p.column;
  double found_sum = 0, found_squares = 0;
  for (float x : image) found_sum += x, found_squares += double{x} * x;
  EXPECT_NEAR(found_sum, sum, 1e-7 * static_cast<double>(image.size()));
  EXPECT_NEAR(found_squares, squares, 1e-7 * static_cast<double>(image.size()));
}

// torch.nn.functional.interpolate(x, size, mode="bilinear", align_corners=False, antialias=False)
TEST(BilinearResize, enlarges_28_to_96_as_pytorch_does) {
  expect_image(96, 96,
               {{0, 0, -0.810198367f},
                {0, 1, -0.810198367f},
                {0, 2, -0.777102053f},
                {1, 0, -0.810198367f},
                {2, 2, -0.757530689f},
                {3, 5, -0.591065347f},
                {10, 20, 0.648311496f},
                {17, 41, 0.160371721f},
                {33, 90, 0.275947928f},
                {47, 48, 0.39089945f},
                {48, 47, 0.371458203f},
                {60, 3, 0.895984232f},
                {71, 64, 1.30517566f},
                {80, 95, 0.0174427219f},
                {94, 94, 1.04504812f},
                {95, 0, 1.28945184f},
                {94, 95, 1.04504812f},
                {95, 95, 1.04504812f}},
               5875.528291900133, 6900.253260364107);
}

TEST(BilinearResize, shrinks_without_antialiasing_as_pytorch_does) {
  expect_image(9, 13,
               {{0, 0, -0.624498069f},
                {0, 12, 1.10664761f},
                {1, 1, 0.287410885f},
                {4, 6, 0.442369908f},
                {5, 11, 0.358434439f},
                {8, 0, 0.148782298f},
                {8, 12, 1.13854814f}},
               75.0135018946603, 87.59516844791501);
}

TEST(BilinearResize, is_right_where_a_row_is_wider_than_a_strip) {
  expect_image(13, 1000,
               {{0, 0, -0.76533407f},
                {0, 511, 1.49660802f},
                {0, 512, 1.50119019f},
                {5, 513, 0.771965384f},
                {12, 999, 0.481041074f}},
               8309.633802894255, 9543.279068165895);
}

TEST(BilinearResize, changes_nothing_where_the_size_stays) {
  std::array<float, 256> values;
  for (size_t p = 0; p < 256; ++p) values[p] = static_cast<float>(p);
  const std::vector<uint8_t> pixels = {1, 2, 3, 4, 5, 6};
  std::vector<float> out(6);
  BilinearResize(2, 3, 2, 3).resize(pixels.data(), values.data(), out.data());
  EXPECT_EQ(out, (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(BilinearResize, spreads_a_single_pixel) {
  std::array<float, 256> values;
  for (size_t p = 0; p < 256; ++p) values[p] = static_cast<float>(p);
  const uint8_t pixel = 200;
  std::vector<float> out(35);
  BilinearResize(1, 1, 5, 7).resize(&pixel, values.data(), out.data());
  EXPECT_EQ(out, std::vector<float>(35, 200.0f));
}

}  // namespace
}  // namespace troika
