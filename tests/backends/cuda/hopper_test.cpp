// Kernels for Hopper against plain loops in f64, on fresh random numbers with poisoned outputs.
// They run on such a GPU, and on a GPU in software.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "hopper_case.h"

namespace troika::cuda {
namespace {

// Weights as [tap][from][to], so that the inner loop is over neighbours.
std::vector<float> taps_of(const Convolution& v, const std::vector<uint16_t>& weights, bool for_gradient) {
  std::vector<float> taps(weights.size());
  for (int64_t k = 0; k < v.k; ++k)
    for (int64_t tap = 0; tap < v.taps(); ++tap)
      for (int64_t c = 0; c < v.c; ++c) {
        const int64_t to = for_gradient ? (tap * v.k + k) * v.c + c : (tap * v.c + c) * v.k + k;
        taps[static_cast<size_t>(to)] = float_of_bf16(weights[static_cast<size_t>((k * v.taps() + tap) * v.c + c)]);
      }
  return taps;
}

// y of x or, for the gradient, dx of dy.
std::vector<double> convolve(const Convolution& v, const std::vector<uint16_t>& in,
                             const std::vector<uint16_t>& weights, bool for_gradient) {
  const int64_t x_pixels = v.x_size[0] * v.x_size[1], y_pixels = v.y_size[0] * v.y_size[1];
  const int64_t in_channels = for_gradient ? v.k : v.c, out_channels = for_gradient ? v.c : v.k;
  const std::vector<float> from = to_floats(in), taps = taps_of(v, weights, for_gradient);
  std::vector<double> out(static_cast<size_t>(for_gradient ? v.x_elements() : v.y_elements()));
  for (int64_t n = 0; n < v.n; ++n)
    for_each_pair(v, [&](int64_t x_pixel, int64_t tap, int64_t y_pixel) {
      const int64_t x_place = n * x_pixels + x_pixel, y_place = n * y_pixels + y_pixel;
      const int64_t source = for_gradient ? y_place : x_place, target = for_gradient ? x_place : y_place;
      double* const to = out.data() + target * out_channels;
      for (int64_t i = 0; i < in_channels; ++i) {
        const double value = from[static_cast<size_t>(source * in_channels + i)];
        const float* const row = taps.data() + (tap * in_channels + i) * out_channels;
        for (int64_t j = 0; j < out_channels; ++j) to[j] += value * row[j];
      }
    });
  return out;
}

// Outputs in bf16 are right to half a unit of their last place and the rounding of sums in f32.
void expect_rounded(const std::vector<uint16_t>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  double largest = 0;
  for (double e : expected) largest = std::max(largest, std::fabs(e));
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(float_of_bf16(found[i]), expected[i], std::fabs(expected[i]) / 256 + 1e-5 * largest) << "element " << i;
}

// The rows of moments together are those of y.
void expect_moments(const Convolution& v, const std::vector<float>& rows, const std::vector<uint16_t>& y) {
  const auto channels = static_cast<size_t>(v.k), row_size = 2 * channels + 1;
  double count = 0;
  for (size_t r = 0; r < rows.size(); r += row_size) count += rows[r];
  ASSERT_EQ(count, static_cast<double>(v.pixels()));
  for (size_t c = 0; c < channels; ++c) {
    double mean = 0, squares = 0, expected_mean = 0, expected_squares = 0;
    for (size_t r = 0; r < rows.size(); r += row_size) mean += rows[r] * static_cast<double>(rows[r + 1 + c]) / count;
    for (size_t r = 0; r < rows.size(); r += row_size) {
      const double difference = rows[r + 1 + c] - mean;
      squares += rows[r + 1 + channels + c] + rows[r] * difference * difference;
    }
    for (size_t i = c; i < y.size(); i += channels) expected_mean += float_of_bf16(y[i]) / count;
    for (size_t i = c; i < y.size(); i += channels) {
      const double difference = float_of_bf16(y[i]) - expected_mean;
      expected_squares += difference * difference;
    }
    ASSERT_NEAR(mean, expected_mean, 1e-5 * std::sqrt(expected_squares / count)) << "channel " << c;
    ASSERT_NEAR(squares, expected_squares, 1e-5 * expected_squares) << "channel " << c;
  }
}

class HopperConv2d : public HopperTest {};

TEST_P(HopperConv2d, EqualsPlainLoops) {
  ASSERT_TRUE(hopper::takes_conv2d(DType::bf16, v_));
  const auto weight_elements = static_cast<size_t>(v_.weight_elements());
  const auto x = random_bf16(static_cast<size_t>(v_.x_elements()), lot_), weights = random_bf16(weight_elements, lot_);
  Memory<uint16_t> x_memory(x.size(), stream_), weights_memory(weight_elements, stream_),
      y_memory(static_cast<size_t>(v_.y_elements()), stream_);
  x_memory.set(x);
  weights_memory.set(weights);
  const int rows = hopper::rows_of_sums(v_, GetParam().multiprocessors);
  const auto row_size = static_cast<size_t>(2 * v_.k + 1);
  Memory<float> moments(static_cast<size_t>(rows) * row_size, stream_);
  std::vector<uint16_t> found[2];
  for (const bool with_moments : {false, true}) {
    y_memory.poison();
    moments.poison();
    hopper::conv2d(v_, x_memory.get(), {}, weights_memory.get(), y_memory.get(), with_moments ? moments.get() : nullptr,
                   GetParam().multiprocessors, stream_);
    found[with_moments] = y_memory.read();
  }
  expect_rounded(found[0], convolve(v_, x, weights, false));
  EXPECT_EQ(found[0], found[1]);
  expect_moments(v_, moments.read(), found[1]);
}

class HopperInputGradient : public HopperTest {
 protected:
  void SetUp() override {
    HopperTest::SetUp();
    ASSERT_TRUE(hopper::takes_input_gradient(DType::bf16, v_));
  }
  void expect_plain_gradient() {
    const auto dy = random_bf16(static_cast<size_t>(v_.y_elements()), lot_),
               weights = random_bf16(static_cast<size_t>(v_.weight_elements()), lot_);
    Memory<uint16_t> dy_memory(dy.size(), stream_), weights_memory(weights.size(), stream_),
        dx_memory(static_cast<size_t>(v_.x_elements()), stream_);
    dy_memory.set(dy);
    weights_memory.set(weights);
    dx_memory.poison();
    hopper::conv2d_input_gradient(v_, weights_memory.get(), dy_memory.get(), dx_memory.get(), {}, nullptr,
                                  GetParam().multiprocessors, stream_);
    expect_rounded(dx_memory.read(), convolve(v_, dy, weights, true));
  }
};

TEST_P(HopperInputGradient, EqualsPlainLoops) { expect_plain_gradient(); }

class HopperInputGradientOfStrideTwo : public HopperInputGradient {};

TEST_P(HopperInputGradientOfStrideTwo, EqualsPlainLoopsAndHasNoSums) {
  EXPECT_EQ(hopper::rows_of_gradient_sums(v_, GetParam().multiprocessors), 0);
  expect_plain_gradient();
}

// The numbers that the ReLU's gradient takes from batch_norm2d.
struct Norm {
  std::vector<uint16_t> x;
  std::vector<float> mean, inv_std, weight, bias;
};

// dx and its sums, computed from the gradient that the same kernel returns without the ReLU.
void expect_relu_gradient(const Convolution& v, const Norm& norm, const std::vector<uint16_t>& plain,
                          const std::vector<uint16_t>& found, const std::vector<float>& rows) {
  const auto channels = static_cast<size_t>(v.c), row_size = 2 * channels + 1;
  std::vector<double> sums(row_size), sizes(row_size);
  for (size_t i = 0; i < plain.size(); ++i) {
    const size_t c = i % channels;
    const float difference = float_of_bf16(norm.x[i]) - norm.mean[c];
    const bool is_cut = std::fma(difference, norm.weight[c] * norm.inv_std[c], norm.bias[c]) <= 0;
    const uint16_t expected = is_cut ? 0 : plain[i];
    ASSERT_EQ(found[i], expected) << "element " << i;
    const double value = float_of_bf16(expected), product = value * difference;
    sums[1 + c] += value;
    sums[1 + channels + c] += product;
    sizes[1 + c] += std::fabs(value);
    sizes[1 + channels + c] += std::fabs(product);
  }
  sums[0] = static_cast<double>(v.x_elements() / v.c);
  for (size_t i = 0; i < row_size; ++i) {
    double total = 0;
    for (size_t r = i; r < rows.size(); r += row_size) total += rows[r];
    ASSERT_NEAR(total, sums[i], 1e-5 * sizes[i]) << "sum " << i;
  }
}

TEST_P(HopperInputGradient, TakesTheGradientOfAReluAlong) {
  const auto elements = static_cast<size_t>(v_.x_elements()),
             weight_elements = static_cast<size_t>(v_.weight_elements()), channels = static_cast<size_t>(v_.c);
  std::normal_distribution<float> normal;
  const auto numbers = [&](float mean) {
    std::vector<float> values(channels);
    for (float& value : values) value = mean + normal(lot_) / 4;
    return values;
  };
  const auto dy = random_bf16(static_cast<size_t>(v_.y_elements()), lot_), weights = random_bf16(weight_elements, lot_);
  const Norm norm = {random_bf16(elements, lot_), numbers(0), numbers(1), numbers(1), numbers(0)};
  const int rows = hopper::rows_of_gradient_sums(v_, GetParam().multiprocessors);
  Memory<uint16_t> dy_memory(dy.size(), stream_), weights_memory(weight_elements, stream_), dx(elements, stream_),
      x(elements, stream_);
  Memory<float> sums(static_cast<size_t>(rows) * (2 * channels + 1), stream_), mean(channels, stream_),
      inv_std(channels, stream_), weight(channels, stream_), bias(channels, stream_);
  dy_memory.set(dy);
  weights_memory.set(weights);
  x.set(norm.x);
  mean.set(norm.mean);
  inv_std.set(norm.inv_std);
  weight.set(norm.weight);
  bias.set(norm.bias);
  const hopper::NormalizedRelu relu = {x.get(), mean.get(), inv_std.get(), weight.get(), bias.get()};
  std::vector<uint16_t> found[2];
  for (const bool has_relu : {false, true}) {
    dx.poison();
    sums.poison();
    hopper::conv2d_input_gradient(v_, weights_memory.get(), dy_memory.get(), dx.get(),
                                  has_relu ? relu : hopper::NormalizedRelu{}, has_relu ? sums.get() : nullptr,
                                  GetParam().multiprocessors, stream_);
    found[has_relu] = dx.read();
  }
  expect_relu_gradient(v_, norm, found[0], found[1], sums.read());
}

// The same with a mask in place of the ReLU's formula, after another gradient has been added. With
// a stride that one has gaps.
class HopperAddedGradient : public HopperInputGradient {
 protected:
  void expect_added(int64_t stride) {
    const auto elements = static_cast<size_t>(v_.x_elements()),
               weight_elements = static_cast<size_t>(v_.weight_elements()), channels = static_cast<size_t>(v_.c);
    const int64_t height = v_.x_size[0], width = v_.x_size[1];
    const auto columns = static_cast<size_t>((width - 1) / stride + 1);
    const size_t addend_elements =
        static_cast<size_t>(v_.n) * static_cast<size_t>((height - 1) / stride + 1) * columns * channels;
    const auto dy = random_bf16(static_cast<size_t>(v_.y_elements()), lot_),
               weights = random_bf16(weight_elements, lot_), x = random_bf16(elements, lot_),
               addend = random_bf16(addend_elements, lot_);
    std::vector<uint8_t> mask(elements / 8);
    for (uint8_t& bits : mask) bits = static_cast<uint8_t>(lot_());
    std::vector<float> mean(channels);
    for (float& m : mean) m = std::normal_distribution<float>()(lot_) / 4;
    const int rows = hopper::rows_of_gradient_sums(v_, GetParam().multiprocessors);
    const size_t row_size = 2 * channels + 1;
    Memory<uint16_t> dy_memory(dy.size(), stream_), weights_memory(weight_elements, stream_), dx(elements, stream_),
        x_memory(elements, stream_), addend_memory(addend_elements, stream_);
    Memory<uint8_t> mask_memory(mask.size(), stream_);
    Memory<float> sums(static_cast<size_t>(rows) * row_size, stream_), mean_memory(channels, stream_);
    dy_memory.set(dy);
    weights_memory.set(weights);
    x_memory.set(x);
    addend_memory.set(addend);
    mask_memory.set(mask);
    mean_memory.set(mean);
    dx.poison();
    sums.poison();
    hopper::conv2d_input_gradient(v_, weights_memory.get(), dy_memory.get(), dx.get(),
                                  {.x = x_memory.get(),
                                   .mean = mean_memory.get(),
                                   .mask = mask_memory.get(),
                                   .addend = addend_memory.get(),
                                   .addend_stride = stride},
                                  sums.get(), GetParam().multiprocessors, stream_);

    std::vector<double> expected = convolve(v_, dy, weights, true);
    const std::vector<uint16_t> found = dx.read();
    std::vector<double> expected_sums(row_size), sizes(row_size);
    size_t added = 0;
    for (size_t i = 0; i < elements; ++i) {
      const size_t c = i % channels;
      const auto pixel = static_cast<int64_t>(i / channels);
      if (pixel % width % stride == 0 && pixel / width % height % stride == 0) {
        expected[i] += float_of_bf16(addend[added++]);
      }
      const bool passes = mask[i / 8] >> i % 8 & 1;
      if (!passes) {
        expected[i] = 0;
        ASSERT_EQ(found[i], 0) << "element " << i;
      }
      const double value = float_of_bf16(found[i]), product = value * (float_of_bf16(x[i]) - mean[c]);
      expected_sums[1 + c] += value;
      expected_sums[1 + channels + c] += product;
      sizes[1 + c] += std::fabs(value);
      sizes[1 + channels + c] += std::fabs(product);
    }
    ASSERT_EQ(added, addend_elements);
    expect_rounded(found, expected);
    expected_sums[0] = static_cast<double>(elements / channels);
    const std::vector<float> found_sums = sums.read();
    for (size_t i = 0; i < row_size; ++i) {
      double total = 0;
      for (size_t r = i; r < found_sums.size(); r += row_size) total += found_sums[r];
      ASSERT_NEAR(total, expected_sums[i], 1e-5 * sizes[i]) << "sum " << i;
    }
  }
};

TEST_P(HopperAddedGradient, HasTheSumsOfItsMaskedResult) { expect_added(1); }

class HopperAddedGradientWithGaps : public HopperAddedGradient {};

TEST_P(HopperAddedGradientWithGaps, HasTheSumsOfItsMaskedResult) {
  ASSERT_TRUE(hopper::takes_gaps(v_, 2));
  expect_added(2);
}

TEST(HopperHalving, TakesOnlyWhatItComputes) {
  const auto takes = [](auto change) {
    Convolution v = halving(2, 28);
    change(v);
    return hopper::takes_input_gradient(DType::bf16, v);
  };
  EXPECT_TRUE(takes([](Convolution&) {}));
  EXPECT_FALSE(hopper::takes_input_gradient(DType::f16, halving(2, 28)));
  EXPECT_TRUE(hopper::takes_conv2d(DType::bf16, halving(2, 28)));
  EXPECT_FALSE(hopper::takes_conv2d(DType::f16, halving(2, 28)));
  EXPECT_FALSE(hopper::takes_weight_gradient(DType::bf16, halving(2, 28)));
  EXPECT_FALSE(hopper::takes_gaps(halving(2, 28), 4));
  EXPECT_FALSE(hopper::takes_gaps(same_size(2, 64, 28), 2));
  EXPECT_TRUE(hopper::takes_gaps(one_by_one(2, 128, 256, 7, 14), 2));
  EXPECT_FALSE(hopper::takes_gaps(one_by_one(2, 128, 256, 14, 7), 2)) << "an odd width";
  EXPECT_FALSE(hopper::takes_gaps(one_by_one(2, 128, 256, 14, 14, 2), 2)) << "stride 2";
  EXPECT_FALSE(takes([](Convolution& v) { v.k = 64; }));
  EXPECT_FALSE(takes([](Convolution& v) { v.c = 128; }));
  EXPECT_FALSE(takes([](Convolution& v) { v.groups = 2; }));
  EXPECT_FALSE(takes([](Convolution& v) { v.x_size[1] = 27; })) << "an odd width";
  EXPECT_FALSE(takes([](Convolution& v) { v.padding[0] = 0; }));
  EXPECT_FALSE(takes([](Convolution& v) { v.dilation[1] = 2; }));
  EXPECT_FALSE(takes([](Convolution& v) { v.stride[0] = 1; }));
  EXPECT_FALSE(takes([](Convolution& v) { v.kernel[0] = v.kernel[1] = 4; }));
  EXPECT_FALSE(hopper::takes_input_gradient(DType::bf16, halving(2, 24)));
  EXPECT_FALSE(takes([](Convolution& v) {
    v.x_size[1] = 14;
    v.y_size[1] = 7;
  })) << "not square";
}

TEST(HopperOneByOne, TakesOnlyWhatItComputes) {
  const auto changed = [](auto change) {
    Convolution v = one_by_one(2, 128, 256, 14, 14);
    change(v);
    return v;
  };
  const auto takes = [](const Convolution& v) {
    return std::vector<bool>{hopper::takes_conv2d(DType::bf16, v), hopper::takes_input_gradient(DType::bf16, v),
                             hopper::takes_weight_gradient(DType::bf16, v)};
  };
  const std::vector<bool> all = {true, true, true}, none = {false, false, false};
  const Convolution plain = one_by_one(2, 128, 256, 14, 14);
  EXPECT_EQ(takes(plain), all);
  EXPECT_FALSE(hopper::takes_conv2d(DType::f16, plain));
  EXPECT_EQ(takes(changed([](Convolution& v) { v.groups = 2; })), none);
  EXPECT_EQ(takes(changed([](Convolution& v) { v.c = 96; })), none);
  EXPECT_EQ(takes(changed([](Convolution& v) { v.k = 4096; })), none);
  EXPECT_EQ(takes(changed([](Convolution& v) { v.y_size[0] = 13; })), none) << "rows that y does not need";
  EXPECT_EQ(takes(changed([](Convolution& v) {
              v.padding[0] = v.padding[1] = 1;
              v.y_size[0] = v.y_size[1] = 16;
            })),
            none);
  EXPECT_EQ(takes(one_by_one(2, 128, 256, 14, 14, 3)), none);
  EXPECT_EQ(takes(one_by_one(2, 128, 256, 14, 14, 2)), all);
  EXPECT_EQ(takes(one_by_one(2, 2048, 64, 14, 14)), (std::vector<bool>{false, true, true})) << "no room for weights";
  EXPECT_EQ(takes(one_by_one(2, 128, 256, 1, 14, 2)), (std::vector<bool>{true, false, true})) << "no odd rows";
  EXPECT_EQ(takes(one_by_one(2, 128, 256, 21, 21, 2)), (std::vector<bool>{true, true, false})) << "121 pixels";
  EXPECT_EQ(takes(one_by_one(2, 128, 256, 23, 23, 2)), none) << "144 pixels";
}

const auto kSameSize = testing::Values(
    Case{same_size(1, 64, 28)}, Case{same_size(3, 64, 28)}, Case{same_size(2, 64, 32)}, Case{same_size(1, 64, 56)},
    Case{same_size(1, 128, 14)}, Case{same_size(9, 128, 14)}, Case{same_size(5, 256, 14)}, Case{same_size(17, 256, 7)},
    Case{same_size(9, 512, 7)}, Case{same_size(33, 512, 4)}, Case{same_size(33, 512, 4), 40});

// Weights that stay in shared memory or not, blocks of 64 to 256 output channels, one to four tiles
// in a block, and last tiles with a few pixels.
const auto kOneByOne = testing::Values(
    Case{one_by_one(1, 64, 64, 3, 3)}, Case{one_by_one(5, 64, 256, 9, 9), 1}, Case{one_by_one(1, 256, 64, 17, 17), 1},
    Case{one_by_one(2, 128, 512, 13, 13), 1}, Case{one_by_one(2, 512, 128, 14, 15), 1},
    Case{one_by_one(2, 192, 320, 8, 9), 2}, Case{one_by_one(2, 192, 512, 10, 10), 2},
    Case{one_by_one(1, 256, 256, 15, 15), 1}, Case{one_by_one(2, 1152, 64, 9, 9), 1},
    Case{one_by_one(3, 1024, 128, 10, 9), 1}, Case{one_by_one(1, 128, 2048, 12, 12), 20});

INSTANTIATE_TEST_SUITE_P(SameSize, HopperConv2d, kSameSize, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(OneByOne, HopperConv2d, kOneByOne, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(SameSize, HopperInputGradient, kSameSize, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(OneByOne, HopperInputGradient, kOneByOne, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(SameSize, HopperAddedGradient, kSameSize, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(OneByOne, HopperAddedGradient, kOneByOne, testing::PrintToStringParamName());

// One tile in a block and several, and last tiles with some of their images.
const auto kHalving = testing::Values(Case{halving(1, 28)}, Case{halving(6, 28), 3}, Case{halving(4, 28), 2},
                                      Case{halving(3, 32), 5}, Case{halving(3, 56), 7}, Case{halving(2, 56), 40});
INSTANTIATE_TEST_SUITE_P(Halving, HopperConv2d, kHalving, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Halving, HopperInputGradient, kHalving, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Halving, HopperAddedGradient, kHalving, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Halving, HopperAddedGradientWithGaps, kHalving, testing::PrintToStringParamName());

// Each form, tiles that begin in the middle of rows of both kinds, images of an odd height, and
// rows as long as a tile and longer.
INSTANTIATE_TEST_SUITE_P(
    OneByOne, HopperAddedGradientWithGaps,
    testing::Values(Case{one_by_one(1, 64, 64, 3, 4)}, Case{one_by_one(5, 256, 64, 9, 10), 1},
                    Case{one_by_one(2, 64, 128, 14, 14), 2}, Case{one_by_one(2, 512, 128, 13, 14), 1},
                    Case{one_by_one(2, 128, 512, 14, 16), 1}, Case{one_by_one(2, 512, 192, 10, 10), 2},
                    Case{one_by_one(3, 128, 1024, 10, 12), 1}, Case{one_by_one(1, 2048, 128, 12, 12), 20},
                    Case{one_by_one(3, 64, 64, 1, 128), 2}, Case{one_by_one(2, 128, 64, 3, 150), 1},
                    Case{one_by_one(200, 64, 64, 1, 2), 1}),
    testing::PrintToStringParamName());

// Tiles of rows of several images, and of whole images.
INSTANTIATE_TEST_SUITE_P(OneByOneOfStrideTwo, HopperConv2d,
                         testing::Values(Case{one_by_one(3, 64, 128, 14, 14, 2), 1},
                                         Case{one_by_one(1, 64, 128, 56, 55, 2)},
                                         Case{one_by_one(10, 128, 192, 7, 7, 2), 3},
                                         Case{one_by_one(9, 1024, 128, 14, 14, 2), 1}),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(
    OneByOne, HopperInputGradientOfStrideTwo,
    testing::Values(Case{one_by_one(3, 64, 128, 14, 14, 2), 1}, Case{one_by_one(1, 128, 64, 56, 55, 2)},
                    Case{one_by_one(10, 256, 128, 7, 7, 2), 1}, Case{one_by_one(9, 256, 256, 8, 7, 2), 1},
                    Case{one_by_one(9, 256, 192, 8, 7, 2), 1}, Case{one_by_one(6, 128, 512, 14, 13, 2), 1},
                    Case{one_by_one(9, 128, 1024, 14, 14, 2), 1}),
    testing::PrintToStringParamName());

}  // namespace
}  // namespace troika::cuda
