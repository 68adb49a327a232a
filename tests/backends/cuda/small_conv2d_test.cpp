// Kernels for small convolutions against plain loops in f64, on fresh random numbers with poisoned
// outputs. They run on a GPU of compute capability 8.0 or later, and on a GPU in software.
#include "backends/cuda/small_conv2d.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "numbers.h"
#include "small_case.h"

namespace troika::cuda {
namespace {

using Case = SmallCase;

// Results are right to a unit of their last place and the rounding of sums in f32.
void expect_rounded(const Numbers& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.count(), static_cast<int64_t>(expected.size()));
  const double unit = found.dtype == DType::f32 ? 0 : found.dtype == DType::bf16 ? 1.0 / 256 : 1.0 / 2048;
  double largest = 0;
  for (double e : expected) largest = std::max(largest, std::fabs(e));
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(found.at(static_cast<int64_t>(i)), expected[i], std::fabs(expected[i]) * unit + 1e-5 * largest)
        << "element " << i;
}

void expect_sums(const std::vector<float>& found, const std::vector<double>& expected) {
  double squares = 0;
  for (double e : expected) squares += e * e;
  const double typical = std::sqrt(squares / static_cast<double>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-4 * typical) << "element " << i;
}

class SmallConv2d : public KernelTest<Case, 80> {
 protected:
  Numbers random(int64_t count) { return Numbers::random(dtype_, count, lot_); }
  std::vector<float> random_floats(int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = std::normal_distribution<float>()(lot_);
    return values;
  }

  const Convolution v_ = GetParam().convolution();
  const DType dtype_ = GetParam().dtype;
  const SmallConv2dLimits limits_ = GetParam().limits();
};

TEST_P(SmallConv2d, EqualsPlainLoops) {
  ASSERT_TRUE(takes_small_conv2d(dtype_, v_, limits_));
  const Numbers x = random(v_.x_elements()), weights = random(v_.weight_elements());
  const std::vector<float> bias = random_floats(v_.k);
  std::vector<double> expected(static_cast<size_t>(v_.y_elements()));
  for_each_product(v_, [&](int64_t from, int64_t weight, int64_t to) {
    expected[static_cast<size_t>(to)] += x.factor(from) * weights.factor(weight);
  });
  const Held x_memory(x, stream_), weights_memory(weights, stream_);
  Memory<uint8_t> y(expected.size() * size_of(dtype_), stream_);
  Memory<float> bias_memory(bias.size(), stream_);
  bias_memory.set(bias);
  const auto run = [&](bool has_bias, bool relu) {
    y.poison();
    small_conv2d(dtype_, v_, x_memory.get(), weights_memory.get(), has_bias ? bias_memory.get() : nullptr, relu,
                 y.get(), {}, limits_, stream_);
    return Numbers{dtype_, y.read()};
  };
  const Numbers found = run(false, false);
  expect_rounded(found, expected);
  EXPECT_EQ(run(false, false).bytes, found.bytes);
  for (size_t i = 0; i < expected.size(); ++i)
    expected[i] = std::max(0.0, expected[i] + double{bias[i % static_cast<size_t>(v_.k)]});
  expect_rounded(run(true, true), expected);
}

TEST_P(SmallConv2d, KeepsNaN) {
  Numbers x = random(v_.x_elements());
  const Numbers weights = random(v_.weight_elements());
  const int64_t place = std::uniform_int_distribution<int64_t>(0, v_.x_elements() - 1)(lot_);
  x.set(place, std::numeric_limits<float>::quiet_NaN());
  std::vector<bool> expected(static_cast<size_t>(v_.y_elements()));
  for_each_product(v_, [&](int64_t from, int64_t, int64_t to) {
    if (from == place) expected[static_cast<size_t>(to)] = true;
  });
  const Held x_memory(x, stream_), weights_memory(weights, stream_);
  Memory<uint8_t> y(expected.size() * size_of(dtype_), stream_);
  small_conv2d(dtype_, v_, x_memory.get(), weights_memory.get(), nullptr, true, y.get(), {}, limits_, stream_);
  const Numbers found{dtype_, y.read()};
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_EQ(std::isnan(found.at(static_cast<int64_t>(i))), expected[i]) << "element " << i;
}

TEST_P(SmallConv2d, InputGradientEqualsPlainLoops) {
  ASSERT_TRUE(takes_small_input_gradient(dtype_, v_, limits_));
  const Numbers dy = random(v_.y_elements()), weights = random(v_.weight_elements());
  std::vector<double> expected(static_cast<size_t>(v_.x_elements()));
  for_each_product(v_, [&](int64_t to, int64_t weight, int64_t from) {
    expected[static_cast<size_t>(to)] += dy.factor(from) * weights.factor(weight);
  });
  const Held dy_memory(dy, stream_), weights_memory(weights, stream_);
  Memory<uint8_t> dx(expected.size() * size_of(dtype_), stream_);
  std::vector<uint8_t> found[2];
  for (auto& f : found) {
    dx.poison();
    small_input_gradient(dtype_, v_, weights_memory.get(), dy_memory.get(), {}, dx.get(), limits_, stream_);
    f = dx.read();
  }
  expect_rounded({dtype_, found[0]}, expected);
  EXPECT_EQ(found[0], found[1]);
}

TEST_P(SmallConv2d, WeightGradientEqualsPlainLoops) {
  ASSERT_TRUE(takes_small_weight_gradient(dtype_, v_, limits_));
  const Numbers x = random(v_.x_elements()), dy = random(v_.y_elements());
  std::vector<double> expected(static_cast<size_t>(v_.weight_elements())), expected_bias(static_cast<size_t>(v_.k));
  for_each_product(v_, [&](int64_t from, int64_t weight, int64_t to) {
    expected[static_cast<size_t>(weight)] += x.factor(from) * dy.factor(to);
  });
  for (int64_t i = 0; i < v_.y_elements(); ++i) expected_bias[static_cast<size_t>(i % v_.k)] += dy.at(i);
  const Held x_memory(x, stream_), dy_memory(dy, stream_);
  Memory<float> dweights(expected.size(), stream_), dbias(expected_bias.size(), stream_);
  std::vector<float> found[2];
  for (const bool has_bias : {false, true}) {
    const size_t bytes = small_weight_gradient_scratch_bytes(dtype_, v_, has_bias, limits_);
    Memory<float> scratch(bytes / sizeof(float), stream_);
    scratch.poison();
    dweights.poison();
    dbias.poison();
    small_weight_gradient(dtype_, v_, x_memory.get(), dy_memory.get(), {}, dweights.get(),
                          has_bias ? dbias.get() : nullptr, scratch.get(), limits_, stream_);
    found[has_bias] = dweights.read();
  }
  expect_sums(found[0], expected);
  expect_sums(dbias.read(), expected_bias);
  EXPECT_EQ(found[0], found[1]);
}

// The second convolutions of LeNets, odd numbers of everything, kernels of even size, one stage and
// two, and one image on many multiprocessors.
INSTANTIATE_TEST_SUITE_P(
    Sizes, SmallConv2d,
    testing::Values(
        Case{DType::bf16, 5, 20, 50, {13, 13}, {5, 5}, {0, 0}},
        Case{DType::f16, 4, 20, 50, {13, 13}, {5, 5}, {0, 0}, 1, 108 << 10},
        Case{DType::bf16, 33, 6, 16, {14, 14}, {5, 5}, {0, 0}, 4},
        Case{DType::f16, 3, 3, 8, {32, 32}, {3, 3}, {1, 1}, 2}, Case{DType::f16, 7, 17, 31, {9, 11}, {3, 5}, {1, 2}},
        Case{DType::bf16, 2, 64, 64, {8, 8}, {3, 3}, {1, 1}}, Case{DType::bf16, 4, 32, 37, {7, 6}, {2, 2}, {1, 1}, 1},
        Case{DType::bf16, 3, 2, 2, {5, 4}, {1, 1}, {0, 0}}, Case{DType::f16, 9, 10, 21, {6, 5}, {7, 7}, {3, 3}, 2},
        Case{DType::bf16, 6, 12, 20, {16, 16}, {3, 3}, {1, 1}, 1, 48 << 10},
        Case{DType::bf16, 2, 40, 36, {16, 32}, {3, 3}, {1, 1}, 1},
        Case{DType::bf16, 1, 48, 24, {12, 12}, {3, 1}, {1, 0}, 132},
        Case{DType::f32, 5, 20, 50, {13, 13}, {5, 5}, {0, 0}, 3, 227 << 10},
        Case{DType::f32, 33, 6, 16, {14, 14}, {5, 5}, {0, 0}, 4}, Case{DType::f32, 7, 17, 31, {9, 11}, {3, 5}, {1, 2}},
        Case{DType::f32, 3, 3, 8, {32, 32}, {3, 3}, {1, 1}, 2}, Case{DType::f32, 4, 32, 37, {7, 6}, {2, 2}, {1, 1}, 1},
        Case{DType::f32, 3, 2, 2, {5, 4}, {1, 1}, {0, 0}}, Case{DType::f32, 2, 25, 61, {8, 8}, {3, 3}, {1, 1}}),
    testing::PrintToStringParamName());

TEST(SmallConv2dLimits, DecideWhichConvolutionsAreTaken) {
  const SmallConv2dLimits limits{132, 227 << 10};
  const Case lenet{DType::bf16, 256, 20, 50, {13, 13}, {5, 5}, {0, 0}};
  const auto takes_all = [&](const Case& c, auto change) {
    Convolution v = c.convolution();
    change(v);
    const bool forward = takes_small_conv2d(c.dtype, v, limits);
    EXPECT_EQ(forward, takes_small_input_gradient(c.dtype, v, limits));
    EXPECT_EQ(forward, takes_small_weight_gradient(c.dtype, v, limits));
    return forward;
  };
  EXPECT_TRUE(takes_all(lenet, [](Convolution&) {}));
  EXPECT_FALSE(takes_all(lenet, [](Convolution& v) { v.stride[1] = 2; }));
  EXPECT_FALSE(takes_all(lenet, [](Convolution& v) { v.dilation[0] = 2; }));
  EXPECT_FALSE(takes_all(lenet, [](Convolution& v) { v.groups = 2; }));
  EXPECT_FALSE(takes_all(lenet, [](Convolution& v) { v.c = 1; }));
  EXPECT_FALSE(takes_all(lenet, [](Convolution& v) { v.k = 65; }));
  EXPECT_FALSE(takes_all(lenet, [](Convolution& v) { v.x_size[0] = 33; }));
  EXPECT_FALSE(takes_all(lenet, [](Convolution& v) { v.padding[0] = 3; }));
  Case f32 = lenet, f64 = lenet;
  f32.dtype = DType::f32;
  f64.dtype = DType::f64;
  EXPECT_TRUE(takes_all(f32, [](Convolution&) {}));
  EXPECT_FALSE(takes_all(f64, [](Convolution&) {}));
  // The weights alone have 401 KiB.
  EXPECT_FALSE(
      takes_small_conv2d(DType::bf16, Case{DType::bf16, 1, 64, 64, {16, 16}, {7, 7}, {3, 3}}.convolution(), limits));
}

}  // namespace
}  // namespace troika::cuda
