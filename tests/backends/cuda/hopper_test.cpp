// Kernels for Hopper against plain loops in f64, on fresh random numbers with poisoned outputs.
// They run on such a GPU, and on a GPU in software.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "backends/cuda/hopper/conv2d.h"
#include "core/float16.h"
#include "kernel_test.h"

namespace troika::cuda {
namespace {

std::vector<uint16_t> random_bf16(size_t count, std::mt19937_64& lot) {
  std::vector<uint16_t> values(count);
  std::normal_distribution<float> normal;
  for (uint16_t& v : values) v = bf16_of_float(normal(lot));
  return values;
}

// 3x3, stride 1, padding 1, everything channels last.
Convolution same_size(int64_t n, int64_t channels, int64_t size) {
  return {.n = n,
          .c = channels,
          .k = channels,
          .groups = 1,
          .x_size = {size, size},
          .y_size = {size, size},
          .kernel = {3, 3},
          .stride = {1, 1},
          .padding = {1, 1},
          .dilation = {1, 1}};
}

// Calls f(pixel of x, tap, pixel of y), of one image, for each pair that a tap joins.
template <typename F>
void for_each_pair(const Convolution& v, F f) {
  const int64_t size = v.x_size[0];
  for (int64_t h = 0; h < size; ++h)
    for (int64_t w = 0; w < size; ++w)
      for (int64_t tap = 0; tap < 9; ++tap) {
        const int64_t from_h = h + tap / 3 - 1, from_w = w + tap % 3 - 1;
        if (from_h >= 0 && from_h < size && from_w >= 0 && from_w < size) f(from_h * size + from_w, tap, h * size + w);
      }
}

std::vector<float> to_floats(const std::vector<uint16_t>& bits) {
  std::vector<float> values;
  values.reserve(bits.size());
  for (uint16_t b : bits) values.push_back(float_of_bf16(b));
  return values;
}

// Weights as [tap][from][to], so that the inner loop is over neighbours.
std::vector<float> taps_of(const Convolution& v, const std::vector<uint16_t>& weights, bool for_gradient) {
  const int64_t c = v.c;
  std::vector<float> taps(weights.size());
  for (int64_t k = 0; k < c; ++k)
    for (int64_t tap = 0; tap < 9; ++tap)
      for (int64_t from = 0; from < c; ++from) {
        const float value = float_of_bf16(weights[static_cast<size_t>((k * 9 + tap) * c + from)]);
        taps[static_cast<size_t>((tap * c + (for_gradient ? k : from)) * c + (for_gradient ? from : k))] = value;
      }
  return taps;
}

std::vector<double> convolve(const Convolution& v, const std::vector<uint16_t>& x, const std::vector<uint16_t>& weights,
                             bool for_gradient) {
  const int64_t c = v.c, image = v.x_size[0] * v.x_size[1] * c;
  const std::vector<float> from = to_floats(x), taps = taps_of(v, weights, for_gradient);
  std::vector<double> y(x.size());
  for (int64_t n = 0; n < v.n; ++n)
    for_each_pair(v, [&](int64_t x_pixel, int64_t tap, int64_t y_pixel) {
      const int64_t source = for_gradient ? y_pixel : x_pixel, target = for_gradient ? x_pixel : y_pixel;
      double* const to = y.data() + n * image + target * c;
      for (int64_t i = 0; i < c; ++i) {
        const double value = from[static_cast<size_t>(n * image + source * c + i)];
        const float* const row = taps.data() + (tap * c + i) * c;
        for (int64_t k = 0; k < c; ++k) to[k] += value * row[k];
      }
    });
  return y;
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

struct Case {
  int64_t n, channels, size;
  int multiprocessors = 5;  // so few that a block has several tiles
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.n << "x" << c.channels << "x" << c.size << "x" << c.size << "_on_" << c.multiprocessors;
}

class HopperConv2d : public KernelTest<Case, 90, 90> {
 protected:
  const Convolution v_ = same_size(GetParam().n, GetParam().channels, GetParam().size);
};

TEST_P(HopperConv2d, EqualsPlainLoops) {
  const auto elements = static_cast<size_t>(v_.x_elements()),
             weight_elements = static_cast<size_t>(v_.weight_elements());
  const auto x = random_bf16(elements, lot_), weights = random_bf16(weight_elements, lot_);
  Memory<uint16_t> x_memory(elements, stream_), weights_memory(weight_elements, stream_), y_memory(elements, stream_);
  x_memory.set(x);
  weights_memory.set(weights);
  const int rows = hopper::rows_of_sums(v_, GetParam().multiprocessors);
  const auto row_size = static_cast<size_t>(2 * v_.k + 1);
  Memory<float> moments(static_cast<size_t>(rows) * row_size, stream_);
  std::vector<uint16_t> found[2];
  for (const bool with_moments : {false, true}) {
    y_memory.poison();
    moments.poison();
    hopper::conv2d(v_, x_memory.get(), weights_memory.get(), y_memory.get(), with_moments ? moments.get() : nullptr,
                   GetParam().multiprocessors, stream_);
    found[with_moments] = y_memory.read();
  }
  expect_rounded(found[0], convolve(v_, x, weights, false));
  EXPECT_EQ(found[0], found[1]);
  expect_moments(v_, moments.read(), found[1]);

  y_memory.poison();
  hopper::conv2d_input_gradient(v_, weights_memory.get(), x_memory.get(), y_memory.get(), {}, nullptr,
                                GetParam().multiprocessors, stream_);
  expect_rounded(y_memory.read(), convolve(v_, x, weights, true));
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
  sums[0] = static_cast<double>(v.pixels());
  for (size_t i = 0; i < row_size; ++i) {
    double total = 0;
    for (size_t r = i; r < rows.size(); r += row_size) total += rows[r];
    ASSERT_NEAR(total, sums[i], 1e-5 * sizes[i]) << "sum " << i;
  }
}

TEST_P(HopperConv2d, TakesTheGradientOfAReluAlong) {
  const auto elements = static_cast<size_t>(v_.x_elements()),
             weight_elements = static_cast<size_t>(v_.weight_elements()), channels = static_cast<size_t>(v_.c);
  std::normal_distribution<float> normal;
  const auto numbers = [&](float mean) {
    std::vector<float> values(channels);
    for (float& value : values) value = mean + normal(lot_) / 4;
    return values;
  };
  const auto dy = random_bf16(elements, lot_), weights = random_bf16(weight_elements, lot_);
  const Norm norm = {random_bf16(elements, lot_), numbers(0), numbers(1), numbers(1), numbers(0)};
  const int rows = hopper::rows_of_sums(v_, GetParam().multiprocessors);
  Memory<uint16_t> dy_memory(elements, stream_), weights_memory(weight_elements, stream_), dx(elements, stream_),
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

// The same with a mask in place of the ReLU's formula, after another gradient has been added.
TEST_P(HopperConv2d, TakesAnotherGradientAndAMaskAlong) {
  const auto elements = static_cast<size_t>(v_.x_elements()),
             weight_elements = static_cast<size_t>(v_.weight_elements()), channels = static_cast<size_t>(v_.c);
  const auto dy = random_bf16(elements, lot_), weights = random_bf16(weight_elements, lot_),
             x = random_bf16(elements, lot_), addend = random_bf16(elements, lot_);
  std::vector<uint8_t> mask(elements / 8);
  for (uint8_t& bits : mask) bits = static_cast<uint8_t>(lot_());
  std::vector<float> mean(channels);
  for (float& m : mean) m = std::normal_distribution<float>()(lot_) / 4;
  const int rows = hopper::rows_of_sums(v_, GetParam().multiprocessors);
  const size_t row_size = 2 * channels + 1;
  Memory<uint16_t> dy_memory(elements, stream_), weights_memory(weight_elements, stream_), dx(elements, stream_),
      x_memory(elements, stream_), addend_memory(elements, stream_);
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
  hopper::conv2d_input_gradient(
      v_, weights_memory.get(), dy_memory.get(), dx.get(),
      {.x = x_memory.get(), .mean = mean_memory.get(), .mask = mask_memory.get(), .addend = addend_memory.get()},
      sums.get(), GetParam().multiprocessors, stream_);

  std::vector<double> expected = convolve(v_, dy, weights, true);
  const std::vector<uint16_t> found = dx.read();
  std::vector<double> expected_sums(row_size), sizes(row_size);
  for (size_t i = 0; i < elements; ++i) {
    const bool passes = mask[i / 8] >> i % 8 & 1;
    expected[i] = passes ? expected[i] + float_of_bf16(addend[i]) : 0;
    if (!passes) {
      ASSERT_EQ(found[i], 0) << "element " << i;
    }
    const size_t c = i % channels;
    const double value = float_of_bf16(found[i]), product = value * (float_of_bf16(x[i]) - mean[c]);
    expected_sums[1 + c] += value;
    expected_sums[1 + channels + c] += product;
    sizes[1 + c] += std::fabs(value);
    sizes[1 + channels + c] += std::fabs(product);
  }
  expect_rounded(found, expected);
  expected_sums[0] = static_cast<double>(v_.pixels());
  const std::vector<float> found_sums = sums.read();
  for (size_t i = 0; i < row_size; ++i) {
    double total = 0;
    for (size_t r = i; r < found_sums.size(); r += row_size) total += found_sums[r];
    ASSERT_NEAR(total, expected_sums[i], 1e-5 * sizes[i]) << "sum " << i;
  }
}

// dweights [k][tap][c].
std::vector<double> weight_gradient(const Convolution& v, const std::vector<uint16_t>& x,
                                    const std::vector<uint16_t>& dy) {
  const int64_t c = v.c, image = v.x_size[0] * v.x_size[1] * c;
  const std::vector<float> in = to_floats(x), gradient = to_floats(dy);
  std::vector<double> dweights(static_cast<size_t>(v.weight_elements()));
  for (int64_t n = 0; n < v.n; ++n)
    for_each_pair(v, [&](int64_t x_pixel, int64_t tap, int64_t y_pixel) {
      const float* const from = in.data() + n * image + x_pixel * c;
      for (int64_t k = 0; k < c; ++k) {
        const double factor = gradient[static_cast<size_t>(n * image + y_pixel * c + k)];
        double* const to = dweights.data() + (k * 9 + tap) * c;
        for (int64_t i = 0; i < c; ++i) to[i] += factor * from[i];
      }
    });
  return dweights;
}

class HopperWeightGradient : public HopperConv2d {
 protected:
  // Returns dweights of two launches.
  std::array<std::vector<float>, 2> compute(const std::vector<uint16_t>& x, const std::vector<uint16_t>& dy) const {
    const int multiprocessors = GetParam().multiprocessors;
    Memory<uint16_t> x_memory(x.size(), stream_), dy_memory(dy.size(), stream_);
    Memory<float> dweights(static_cast<size_t>(v_.weight_elements()), stream_),
        scratch(hopper::conv2d_weight_gradient_scratch_bytes(v_, multiprocessors) / sizeof(float), stream_);
    Memory<unsigned> turns(2, stream_);
    x_memory.set(x);
    dy_memory.set(dy);
    turns.set({0, 0});
    std::array<std::vector<float>, 2> found;
    for (std::vector<float>& f : found) {
      scratch.poison();
      dweights.poison();
      hopper::conv2d_weight_gradient(v_, x_memory.get(), dy_memory.get(), dweights.get(), scratch.get(), turns.get(),
                                     multiprocessors, stream_);
      f = dweights.read();
    }
    return found;
  }
};

TEST_P(HopperWeightGradient, EqualsPlainLoopsAndIsTheSameEachTime) {
  const auto elements = static_cast<size_t>(v_.x_elements());
  const auto x = random_bf16(elements, lot_), dy = random_bf16(elements, lot_);
  const auto [first, second] = compute(x, dy);
  EXPECT_EQ(first, second);
  const std::vector<double> expected = weight_gradient(v_, x, dy);
  double squares = 0;
  for (double e : expected) squares += e * e;
  const double typical = std::sqrt(squares / static_cast<double>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(first[i], expected[i], 1e-4 * typical) << "element " << i;
}

INSTANTIATE_TEST_SUITE_P(Sizes, HopperWeightGradient,
                         testing::Values(Case{1, 64, 28}, Case{3, 64, 28}, Case{2, 64, 32}, Case{1, 64, 56},
                                         Case{18, 128, 14, 8}, Case{17, 128, 14, 13}, Case{1, 256, 14},
                                         Case{37, 256, 7}, Case{19, 256, 7, 50}, Case{3, 512, 7}, Case{69, 512, 4}),
                         testing::PrintToStringParamName());

// From 128 channels on.
class HopperWideWeightGradient : public HopperWeightGradient {};

TEST_P(HopperWideWeightGradient, HasNanOnlyInTheTapsThatReadIt) {
  const auto elements = static_cast<size_t>(v_.x_elements());
  auto x = random_bf16(elements, lot_);
  const auto dy = random_bf16(elements, lot_);
  constexpr size_t kChannel = 70;
  x[kChannel] = 0x7fff;  // of the first pixel, which the taps of the filter's last row and column do not read
  const std::vector<float> found = compute(x, dy)[0];
  const auto channels = static_cast<size_t>(v_.c);
  for (size_t i = 0; i < found.size(); ++i) {
    const size_t tap = i / channels % 9;
    ASSERT_EQ(std::isnan(found[i]), i % channels == kChannel && tap / 3 < 2 && tap % 3 < 2) << "element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, HopperWideWeightGradient, testing::Values(Case{2, 256, 7}),
                         testing::PrintToStringParamName());

INSTANTIATE_TEST_SUITE_P(Sizes, HopperConv2d,
                         testing::Values(Case{1, 64, 28}, Case{3, 64, 28}, Case{2, 64, 32}, Case{1, 64, 56},
                                         Case{1, 128, 14}, Case{9, 128, 14}, Case{5, 256, 14}, Case{17, 256, 7},
                                         Case{9, 512, 7}, Case{33, 512, 4}, Case{33, 512, 4, 40}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace troika::cuda
