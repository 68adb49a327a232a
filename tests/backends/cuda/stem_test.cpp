// conv2d of images of one channel on tensor cores against plain loops in f64, on fresh random
// numbers with poisoned outputs. The tests run on a GPU, and on a GPU in software.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "backends/cuda/stem_mma.h"
#include "core/float16.h"
#include "kernel_test.h"

namespace troika::cuda {
namespace {

using Pair = std::array<int64_t, 2>;

struct Case {
  int64_t n, k;
  Pair x, kernel, stride = {1, 1}, padding = {0, 0}, dilation = {1, 1};
  int multiprocessors = 2;  // so few that a warp has several tiles
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  const auto pair = [&](const Pair& p) -> std::ostream& { return out << p[0] << "x" << p[1]; };
  out << c.n << "x1x";
  pair(c.x) << "_to_" << c.k << "_kernel_";
  pair(c.kernel) << "_stride_";
  pair(c.stride) << "_padding_";
  pair(c.padding) << "_dilation_";
  return pair(c.dilation) << "_on_" << c.multiprocessors;
}

Convolution convolution_of(const Case& c) {
  Convolution v = {};
  v.n = c.n;
  v.c = v.groups = 1;
  v.k = c.k;
  for (size_t i = 0; i < 2; ++i) {
    v.x_size[i] = c.x[i];
    v.kernel[i] = c.kernel[i];
    v.stride[i] = c.stride[i];
    v.padding[i] = c.padding[i];
    v.dilation[i] = c.dilation[i];
    v.y_size[i] = (c.x[i] + 2 * c.padding[i] - c.dilation[i] * (c.kernel[i] - 1) - 1) / c.stride[i] + 1;
  }
  return v;
}

// Calls f(element of x, tap, pixel of y) for each pair that a tap joins.
template <typename F>
void for_each_pair(const Convolution& v, F f) {
  for (int64_t pixel = 0; pixel < v.pixels(); ++pixel)
    for (int64_t tap = 0; tap < v.taps(); ++tap) {
      const int64_t image = pixel / (v.y_size[0] * v.y_size[1]);
      const int64_t y[] = {pixel / v.y_size[1] % v.y_size[0], pixel % v.y_size[1]};
      const int64_t at[] = {tap / v.kernel[1], tap % v.kernel[1]};
      int64_t x[2];
      bool is_inside = true;
      for (int i = 0; i < 2; ++i) {
        x[i] = y[i] * v.stride[i] - v.padding[i] + at[i] * v.dilation[i];
        is_inside = is_inside && x[i] >= 0 && x[i] < v.x_size[i];
      }
      if (is_inside)
        f(static_cast<size_t>((image * v.x_size[0] + x[0]) * v.x_size[1] + x[1]), static_cast<size_t>(tap),
          static_cast<size_t>(pixel));
    }
}

// How a GPU stores numbers.
struct Format {
  DType dtype;
  double unit;  // of the last place of 1

  bool has_moments() const { return dtype != DType::f32; }
  float rounded(float value) const {
    if (dtype == DType::f32) return value;
    return dtype == DType::f16 ? float_of_f16(f16_of_float(value)) : float_of_bf16(bf16_of_float(value));
  }
  // As a factor: f32 is rounded to TF32, ties away from zero.
  std::vector<float> factors(std::vector<float> values) const {
    if (dtype == DType::f32)
      for (float& value : values)
        if (!std::isnan(value)) value = std::bit_cast<float>((std::bit_cast<uint32_t>(value) + 0x1000u) & 0xffffe000u);
    return values;
  }
  std::vector<uint8_t> bytes(const std::vector<float>& values) const {
    std::vector<uint8_t> all(values.size() * size_of(dtype));
    for (size_t i = 0; i < values.size(); ++i) {
      const uint16_t bits = dtype == DType::f16 ? f16_of_float(values[i]) : bf16_of_float(values[i]);
      std::memcpy(all.data() + i * size_of(dtype),
                  dtype == DType::f32 ? static_cast<const void*>(&values[i]) : static_cast<const void*>(&bits),
                  size_of(dtype));
    }
    return all;
  }
  std::vector<float> numbers(const std::vector<uint8_t>& bytes) const {
    std::vector<float> values(bytes.size() / size_of(dtype));
    for (size_t i = 0; i < values.size(); ++i) {
      uint16_t bits = 0;
      std::memcpy(dtype == DType::f32 ? static_cast<void*>(&values[i]) : static_cast<void*>(&bits),
                  bytes.data() + i * size_of(dtype), size_of(dtype));
      if (dtype != DType::f32) values[i] = dtype == DType::f16 ? float_of_f16(bits) : float_of_bf16(bits);
    }
    return values;
  }
};
constexpr Format kFormats[] = {{DType::bf16, 1.0 / 128}, {DType::f16, 1.0 / 1024}, {DType::f32, 0x1p-23}};

class StemMma : public KernelTest<Case, 80> {
 protected:
  std::vector<float> random(const Format& format, size_t count, float mean = 0, float deviation = 1) {
    std::normal_distribution<float> normal(mean, deviation);
    std::vector<float> values(count);
    for (float& v : values) v = format.rounded(normal(lot_));
    return values;
  }

  struct Result {
    std::vector<float> y, moments;
  };
  // Memory after y stays as it was.
  Result forward(const Convolution& v, const Format& format, const std::vector<float>& x,
                 const std::vector<float>& weights, const std::vector<float>& bias, bool relu, bool has_moments) {
    constexpr size_t kAfter = 128;
    const size_t element = size_of(format.dtype);
    Memory<uint8_t> x_memory(x.size() * element, stream_), weights_memory(weights.size() * element, stream_),
        y(static_cast<size_t>(v.y_elements()) * element + kAfter, stream_);
    Memory<float> bias_memory(std::max<size_t>(bias.size(), 1), stream_),
        moments(static_cast<size_t>(stem_mma_rows_of_sums(v, multiprocessors_) * (2 * v.k + 1)), stream_);
    x_memory.set(format.bytes(x));
    weights_memory.set(format.bytes(weights));
    y.poison();
    moments.poison();
    if (!bias.empty()) bias_memory.set(bias);
    EXPECT_TRUE(takes_stem_mma(format.dtype, v));
    stem_mma_conv2d(format.dtype, v, x_memory.get(), weights_memory.get(), bias.empty() ? nullptr : bias_memory.get(),
                    relu, y.get(), has_moments ? moments.get() : nullptr, {}, multiprocessors_, stream_);
    std::vector<uint8_t> bytes = y.read();
    for (size_t i = 0; i < kAfter; ++i) EXPECT_EQ(bytes[bytes.size() - 1 - i], 0xff) << "after y";
    bytes.resize(bytes.size() - kAfter);
    return {format.numbers(bytes), moments.read()};
  }

  struct Gradient {
    std::vector<float> weights, bias;
  };
  Gradient gradient(const Convolution& v, const Format& format, const std::vector<float>& x,
                    const std::vector<float>& dy, bool has_bias) {
    const size_t element = size_of(format.dtype);
    Memory<uint8_t> x_memory(x.size() * element, stream_), dy_memory(dy.size() * element, stream_);
    Memory<float> weights(static_cast<size_t>(v.weight_elements()), stream_), bias(static_cast<size_t>(v.k), stream_),
        scratch(stem_mma_weight_gradient_scratch_bytes(v, has_bias, multiprocessors_) / sizeof(float), stream_);
    x_memory.set(format.bytes(x));
    dy_memory.set(format.bytes(dy));
    weights.poison();
    bias.poison();
    scratch.poison();
    stem_mma_weight_gradient(format.dtype, v, x_memory.get(), dy_memory.get(), {}, weights.get(),
                             has_bias ? bias.get() : nullptr, scratch.get(), multiprocessors_, stream_);
    return {weights.read(), bias.read()};
  }

  int multiprocessors_ = 2;
};

class StemMmaSizes : public StemMma {
 protected:
  StemMmaSizes() { multiprocessors_ = GetParam().multiprocessors; }
  const Convolution v_ = convolution_of(GetParam());
};

// y in f64, and the sum of the sizes of its terms.
struct Exact {
  std::vector<double> y, sizes;
};

Exact convolve(const Convolution& v, const std::vector<float>& x, const std::vector<float>& weights,
               const std::vector<float>& bias, bool relu) {
  const auto k = static_cast<size_t>(v.k), taps = static_cast<size_t>(v.taps());
  Exact e = {std::vector<double>(static_cast<size_t>(v.y_elements())),
             std::vector<double>(static_cast<size_t>(v.y_elements()))};
  for (size_t i = 0; i < e.y.size(); ++i)
    if (!bias.empty()) e.sizes[i] = std::fabs(e.y[i] = bias[i % k]);
  for_each_pair(v, [&](size_t from, size_t tap, size_t pixel) {
    for (size_t c = 0; c < k; ++c) {
      const double term = double{x[from]} * weights[c * taps + tap];
      e.y[pixel * k + c] += term;
      e.sizes[pixel * k + c] += std::fabs(term);
    }
  });
  if (relu)
    for (double& y : e.y) y = std::max(y, 0.0);
  return e;
}

// Sums in f32 of which each addition may cut, rounded once.
void expect_rounded(const Format& format, const std::vector<float>& found, const Exact& expected) {
  ASSERT_EQ(found.size(), expected.y.size());
  constexpr double kSum = 1e-5, kLeast = 0x1p-24;
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected.y[i], format.unit / 2 * std::fabs(expected.y[i]) + kSum * expected.sizes[i] + kLeast)
        << "element " << i;
}

// The rows of moments together are those of y. Means are in f32.
void expect_moments(const Convolution& v, const std::vector<float>& rows, const std::vector<float>& y, double bound) {
  const auto channels = static_cast<size_t>(v.k), row_size = 2 * channels + 1;
  double count = 0;
  for (size_t r = 0; r < rows.size(); r += row_size) count += rows[r];
  ASSERT_EQ(count, static_cast<double>(v.pixels()));
  for (size_t c = 0; c < channels; ++c) {
    double mean = 0, squares = 0, expected_mean = 0, expected_squares = 0;
    for (size_t r = 0; r < rows.size(); r += row_size) mean += rows[r] * double{rows[r + 1 + c]} / count;
    for (size_t r = 0; r < rows.size(); r += row_size)
      squares += rows[r + 1 + channels + c] + rows[r] * std::pow(rows[r + 1 + c] - mean, 2);
    for (size_t i = c; i < y.size(); i += channels) expected_mean += y[i] / count;
    for (size_t i = c; i < y.size(); i += channels) expected_squares += std::pow(y[i] - expected_mean, 2);
    ASSERT_NEAR(mean, expected_mean, 1e-5 * std::sqrt(expected_squares / count) + 0x1p-23 * std::fabs(expected_mean))
        << "channel " << c;
    ASSERT_NEAR(squares, expected_squares, bound * expected_squares) << "channel " << c;
  }
}

TEST_P(StemMmaSizes, EqualsPlainLoops) {
  const auto k = static_cast<size_t>(v_.k);
  for (const Format& format : kFormats) {
    if (!takes_stem_mma(format.dtype, v_)) continue;  // f32 with many taps
    const auto x = random(format, static_cast<size_t>(v_.x_elements())),
               weights = random(format, static_cast<size_t>(v_.weight_elements()));
    std::normal_distribution<float> normal;
    std::vector<float> bias(k);
    for (float& b : bias) b = normal(lot_);
    for (const bool has_bias : {false, true})
      for (const bool relu : {false, true}) {
        const std::vector<float> own_bias = has_bias ? bias : std::vector<float>();
        const Result found = forward(v_, format, x, weights, own_bias, relu, false);
        expect_rounded(format, found.y, convolve(v_, format.factors(x), format.factors(weights), own_bias, relu));
        if (has_bias || relu || !format.has_moments()) continue;
        const Result with_moments = forward(v_, format, x, weights, {}, false, true);
        EXPECT_EQ(with_moments.y, found.y);
        expect_moments(v_, with_moments.moments, found.y, 1e-5);
      }
  }
}

TEST_P(StemMmaSizes, HasTheGradientOfPlainLoopsEachTime) {
  const auto k = static_cast<size_t>(v_.k), taps = static_cast<size_t>(v_.taps());
  for (const Format& format : kFormats) {
    if (!takes_stem_mma(format.dtype, v_)) continue;  // f32 with many taps
    const auto x = random(format, static_cast<size_t>(v_.x_elements())),
               dy = random(format, static_cast<size_t>(v_.y_elements()));
    const std::vector<float> in = format.factors(x), out = format.factors(dy);
    std::vector<double> weights(k * taps), weight_sizes(k * taps), bias(k), bias_sizes(k);
    for_each_pair(v_, [&](size_t from, size_t tap, size_t pixel) {
      for (size_t c = 0; c < k; ++c) {
        const double term = double{in[from]} * out[pixel * k + c];
        weights[c * taps + tap] += term;
        weight_sizes[c * taps + tap] += std::fabs(term);
      }
    });
    for (size_t i = 0; i < dy.size(); ++i) {  // as it is: dy is no factor here
      bias[i % k] += dy[i];
      bias_sizes[i % k] += std::fabs(dy[i]);
    }
    const Gradient first = gradient(v_, format, x, dy, true), second = gradient(v_, format, x, dy, true),
                   without_bias = gradient(v_, format, x, dy, false);
    EXPECT_EQ(first.weights, second.weights);
    EXPECT_EQ(first.bias, second.bias);
    EXPECT_EQ(first.weights, without_bias.weights);
    EXPECT_TRUE(std::isnan(without_bias.bias[0])) << "nobody asked for it";
    constexpr double kBound = 2e-6;
    for (size_t i = 0; i < weights.size(); ++i)
      ASSERT_NEAR(first.weights[i], weights[i], kBound * weight_sizes[i]) << "weight " << i;
    for (size_t c = 0; c < k; ++c) ASSERT_NEAR(first.bias[c], bias[c], kBound * bias_sizes[c]) << "bias " << c;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, StemMmaSizes,
    testing::Values(Case{2, 64, {28, 28}, {3, 3}, {1, 1}, {1, 1}}, Case{2, 20, {28, 28}, {5, 5}},
                    Case{1, 64, {28, 28}, {7, 7}, {2, 2}, {3, 3}}, Case{1, 37, {20, 23}, {11, 11}, {3, 1}, {5, 4}},
                    Case{3, 1, {5, 7}, {1, 1}}, Case{1, 40, {9, 13}, {3, 3}, {1, 1}, {1, 1}},
                    Case{1, 12, {9, 11}, {2, 4}, {1, 2}, {1, 2}}, Case{2, 6, {12, 13}, {3, 3}, {2, 2}},
                    Case{2, 7, {17, 11}, {4, 4}, {1, 1}, {2, 1}, {2, 2}},
                    Case{1, 65, {10, 9}, {3, 3}, {1, 1}, {3, 3}, {3, 2}}, Case{2, 9, {6, 30}, {1, 11}, {1, 3}, {0, 6}},
                    Case{1, 33, {30, 6}, {9, 1}, {2, 1}, {4, 0}, {1, 1}, 7}, Case{5, 3, {1, 1}, {1, 1}},
                    Case{70, 2, {2, 2}, {2, 2}}, Case{1, 128, {6, 8}, {5, 6}, {1, 1}, {2, 3}},
                    Case{1, 4, {64, 40}, {8, 8}, {3, 3}, {0, 0}, {2, 3}, 1},
                    Case{9, 8, {33, 31}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 1}),
    testing::PrintToStringParamName());

// y is about 300, with deviations of about 3, so squares of y have few bits for the deviations.
TEST_F(StemMma, HasExactMomentsFarFromZero) {
  const Convolution v = convolution_of({4, 24, {29, 31}, {3, 3}, {1, 1}, {0, 0}});
  for (const Format& format : kFormats) {
    if (!format.has_moments()) continue;
    const auto x = random(format, static_cast<size_t>(v.x_elements()), 33, 1);
    const std::vector<float> weights(static_cast<size_t>(v.weight_elements()), 1);
    const Result found = forward(v, format, x, weights, {}, false, true);
    expect_moments(v, found.moments, found.y, 1e-5);
  }
}

// With infinities and NaN, and the zeros that fill matrices.
TEST_F(StemMma, SpreadsNaNToItsOwnResultsAlone) {
  const Convolution v = convolution_of({2, 20, {11, 9}, {3, 3}});
  const auto k = static_cast<size_t>(v.k), taps = static_cast<size_t>(v.taps());
  for (const Format& format : kFormats)
    for (const float bad : {std::nanf(""), INFINITY}) {
      auto x = random(format, static_cast<size_t>(v.x_elements()), 2, 0.25f);
      x[0] = bad;  // of the first pixel, and of its tap 0 alone
      const std::vector<float> weights(static_cast<size_t>(v.weight_elements()), -1);
      const std::vector<float> y = forward(v, format, x, weights, {}, true, false).y;
      for (size_t i = 0; i < y.size(); ++i)
        ASSERT_EQ(std::isnan(y[i]), i < k && std::isnan(bad)) << "element " << i;  // the ReLU cuts -infinity

      auto dy = random(format, static_cast<size_t>(v.y_elements()), 1, 0.25f);
      dy[3] = std::nanf("");
      const Gradient found = gradient(v, format, x, dy, true);
      for (size_t i = 0; i < found.weights.size(); ++i) {
        const bool is_hit = i / taps == 3;
        ASSERT_EQ(std::isnan(found.weights[i]), is_hit || (i % taps == 0 && std::isnan(bad))) << "weight " << i;
        ASSERT_EQ(std::isfinite(found.weights[i]), !is_hit && i % taps != 0) << "weight " << i;
      }
      for (size_t c = 0; c < k; ++c) ASSERT_EQ(std::isnan(found.bias[c]), c == 3) << "bias " << c;
    }
}

TEST_F(StemMma, LeavesOtherConvolutionsAlone) {
  const Convolution v = convolution_of({2, 20, {28, 28}, {3, 3}});
  EXPECT_FALSE(takes_stem_mma(DType::f64, v));
  EXPECT_FALSE(takes_stem_mma(DType::f32, convolution_of({2, 20, {28, 28}, {9, 8}}))) << "more than 64 taps";
  Convolution two_channels = v, large_kernel = v, far = v;
  two_channels.c = 2;
  large_kernel.kernel[0] = 12;
  far.x_size[0] = far.x_size[1] = int64_t{1} << 16;
  for (const Convolution& other : {two_channels, large_kernel, far}) EXPECT_FALSE(takes_stem_mma(DType::bf16, other));
}

}  // namespace
}  // namespace troika::cuda
