// Convolutions that pool their result, and gradients that read a pooled dy, against plain loops: on
// fresh random numbers, with poisoned outputs. The tests run on a GPU, and on a GPU in software.
#include "backends/cuda/fused_pool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backends/cuda/pooled_ways.h"
#include "backends/cuda/small_conv2d.h"
#include "backends/cuda/stem_mma.h"
#include "numbers.h"
#include "small_case.h"

namespace troika::cuda {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Case : SmallCase {
  FusedPool kind;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << static_cast<const SmallCase&>(c) << (c.kind == FusedPool::max ? "_max" : "_average");
}

struct Pooled {
  Numbers y;
  std::vector<uint8_t> mask;
};

class FusedPools : public KernelTest<Case, 80> {
 protected:
  Numbers zeros(int64_t count) const {
    return {dtype_, std::vector<uint8_t>(static_cast<size_t>(count) * size_of(dtype_))};
  }
  Numbers random(int64_t count) { return Numbers::random(dtype_, count, lot_); }
  // Sums of their products are exact; many of them are equal, or 0.
  Numbers whole_numbers(int64_t count) {
    Numbers numbers = zeros(count);
    for (int64_t i = 0; i < count; ++i)
      numbers.set(i, static_cast<float>(std::uniform_int_distribution<int>(-1, 1)(lot_)));
    return numbers;
  }
  std::vector<uint8_t> random_mask() {
    std::vector<uint8_t> mask(static_cast<size_t>(windows_));
    for (uint8_t& m : mask) m = static_cast<uint8_t>(std::uniform_int_distribution<int>(0, 255)(lot_));
    return mask;
  }

  // The element of y that is pixel `i` of a window's element.
  int64_t pixel(int64_t window, int64_t i) const {
    const int64_t columns = v_.y_size[1] / 2, channel = window % v_.k, column = window / v_.k % columns,
                  row = window / v_.k / columns;  // of all images
    return ((row * 2 + i / 2) * v_.y_size[1] + column * 2 + i % 2) * v_.k + channel;
  }

  // As pool2d.cu and the gradient of a ReLU do it.
  Pooled pool(const Numbers& y, bool relu) const {
    Pooled pooled{zeros(windows_), std::vector<uint8_t>(static_cast<size_t>(windows_))};
    for (int64_t w = 0; w < windows_; ++w) {
      float sum = 0, best = -INFINITY;
      int chosen = 0, passing = 0;
      for (int i = 0; i < 4; ++i) {
        const float value = y.at(pixel(w, i));
        sum += value;
        if (value > best || std::isnan(value)) best = value, chosen = i;
        if (!(relu && value <= 0)) passing |= 1 << i;
      }
      const bool is_max = kind_ == FusedPool::max;
      pooled.y.set(w, is_max ? best : sum / 4);
      pooled.mask[static_cast<size_t>(w)] = static_cast<uint8_t>(is_max ? passing & 1 << chosen : passing);
    }
    return pooled;
  }
  Numbers expand(const Numbers& dy, const std::vector<uint8_t>& mask) const {
    Numbers whole = zeros(4 * windows_);
    for (int64_t w = 0; w < windows_; ++w)
      for (int i = 0; i < 4; ++i) {
        const float share = kind_ == FusedPool::max ? 0 + dy.at(w) : dy.at(w) / 4;
        whole.set(pixel(w, i), mask[static_cast<size_t>(w)] >> i & 1 ? share : 0);
      }
    return whole;
  }

  // A pooled image with its channels last becomes one that is stored plain.
  Numbers plain(const Numbers& pooled) const {
    Numbers found = zeros(windows_);
    const int64_t each = windows_ / v_.n / v_.k;  // windows of an image
    for (int64_t i = 0; i < windows_; ++i) {
      const int64_t channel = i % v_.k, window = i / v_.k % each, image = i / v_.k / each;
      found.set((image * v_.k + channel) * each + window, pooled.at(i));
    }
    return found;
  }

  // y in f64, cut at 0 if `relu`.
  std::vector<double> convolve(const Numbers& x, const Numbers& weights, const std::vector<float>& bias,
                               bool relu) const {
    std::vector<double> y(static_cast<size_t>(v_.y_elements()));
    for (size_t i = 0; i < y.size(); ++i) y[i] = bias.empty() ? 0 : bias[i % static_cast<size_t>(v_.k)];
    for_each_product(v_, [&](int64_t from, int64_t weight, int64_t to) {
      y[static_cast<size_t>(to)] += x.factor(from) * weights.factor(weight);
    });
    for (double& value : y)
      if (relu && value < 0) value = 0;
    return y;
  }

  // Memory after the outputs stays as it was.
  Pooled run(const Numbers& x, const Numbers& weights, const std::vector<float>& bias, bool relu,
             bool is_plain = false) {
    constexpr size_t kAfter = 64;
    EXPECT_TRUE(v_.c == 1 ? takes_stem_mma(dtype_, v_) : takes_small_conv2d(dtype_, v_, limits_));
    const Held x_memory(x, stream_), weights_memory(weights, stream_);
    Memory<float> bias_memory(std::max<size_t>(bias.size(), 1), stream_);
    if (!bias.empty()) bias_memory.set(bias);
    Memory<uint8_t> y(static_cast<size_t>(windows_) * size_of(dtype_) + kAfter, stream_),
        mask(static_cast<size_t>(windows_) + kAfter, stream_);
    y.poison();
    mask.poison();
    const float* const some_bias = bias.empty() ? nullptr : bias_memory.get();
    const Pooling pooling{kind_, mask.get(), is_plain};
    if (v_.c == 1)
      stem_mma_conv2d(dtype_, v_, x_memory.get(), weights_memory.get(), some_bias, relu, y.get(), nullptr, pooling,
                      limits_.multiprocessors, stream_);
    else
      small_conv2d(dtype_, v_, x_memory.get(), weights_memory.get(), some_bias, relu, y.get(), pooling, limits_,
                   stream_);
    Pooled pooled{{dtype_, y.read()}, mask.read()};
    for (std::vector<uint8_t>* bytes : {&pooled.y.bytes, &pooled.mask}) {
      for (size_t i = 0; i < kAfter; ++i) EXPECT_EQ((*bytes)[bytes->size() - 1 - i], 0xff) << "after an output";
      bytes->resize(bytes->size() - kAfter);
    }
    return pooled;
  }

  struct WeightGradient {
    std::vector<float> weights, bias;
  };
  WeightGradient weight_gradient(const Numbers& x, const Numbers& dy, std::vector<uint8_t> mask,
                                 bool is_plain = false) {
    const bool is_pooled = !mask.empty(), is_stem = v_.c == 1;
    const Held x_memory(x, stream_), dy_memory(dy, stream_);
    mask.resize(std::max<size_t>(mask.size(), 1));
    Memory<uint8_t> mask_memory(mask.size(), stream_);
    mask_memory.set(mask);
    const Pooling pooling = is_pooled ? Pooling{kind_, mask_memory.get(), is_plain} : Pooling{};
    const size_t bytes = is_stem ? stem_mma_weight_gradient_scratch_bytes(v_, true, limits_.multiprocessors)
                                 : small_weight_gradient_scratch_bytes(dtype_, v_, true, limits_);
    Memory<float> weights(static_cast<size_t>(v_.weight_elements()), stream_), bias(static_cast<size_t>(v_.k), stream_),
        scratch(bytes / sizeof(float), stream_);
    for (Memory<float>* memory : {&weights, &bias, &scratch}) memory->poison();
    if (is_stem)
      stem_mma_weight_gradient(dtype_, v_, x_memory.get(), dy_memory.get(), pooling, weights.get(), bias.get(),
                               scratch.get(), limits_.multiprocessors, stream_);
    else
      small_weight_gradient(dtype_, v_, x_memory.get(), dy_memory.get(), pooling, weights.get(), bias.get(),
                            scratch.get(), limits_, stream_);
    return {weights.read(), bias.read()};
  }

  // The same numbers, NaN for NaN, and the same masks.
  static void expect_equal(const Pooled& found, const Pooled& expected) {
    ASSERT_EQ(found.y.count(), expected.y.count());
    for (int64_t i = 0; i < expected.y.count(); ++i) {
      const float f = found.y.at(i), e = expected.y.at(i);
      ASSERT_TRUE(std::isnan(e) ? std::isnan(f) : f == e) << "window " << i << ": " << f << ", expected " << e;
    }
    EXPECT_EQ(found.mask, expected.mask);
  }

  const Convolution v_ = GetParam().convolution();
  const DType dtype_ = GetParam().dtype;
  const FusedPool kind_ = GetParam().kind;
  const SmallConv2dLimits limits_ = GetParam().limits();
  const int64_t windows_ = v_.y_elements() / 4;
};

TEST_P(FusedPools, OfWholeNumbersEqualPlainLoops) {
  Numbers x = whole_numbers(v_.x_elements());
  const Numbers weights = whole_numbers(v_.weight_elements());
  x.set(v_.x_elements() / 2, kNaN);
  std::vector<float> bias(static_cast<size_t>(v_.k));
  for (float& b : bias) b = static_cast<float>(std::uniform_int_distribution<int>(-3, 3)(lot_));
  for (const bool relu : {false, true})
    for (const auto& some_bias : {std::vector<float>(), bias}) {
      const std::vector<double> exact = convolve(x, weights, some_bias, relu);
      Numbers y = zeros(v_.y_elements());
      for (size_t i = 0; i < exact.size(); ++i) y.set(static_cast<int64_t>(i), static_cast<float>(exact[i]));
      expect_equal(run(x, weights, some_bias, relu), pool(y, relu));
    }
}

TEST_P(FusedPools, OfRandomNumbersAreRounded) {
  const Numbers x = random(v_.x_elements()), weights = random(v_.weight_elements());
  const Pooled found = run(x, weights, {}, true), again = run(x, weights, {}, true);
  EXPECT_EQ(found.y.bytes, again.y.bytes);
  EXPECT_EQ(found.mask, again.mask);
  const std::vector<double> y = convolve(x, weights, {}, true);
  double largest = 0;
  for (double value : y) largest = std::max(largest, value);
  const double unit = dtype_ == DType::f32 ? 0 : dtype_ == DType::bf16 ? 1.0 / 128 : 1.0 / 1024;
  for (int64_t w = 0; w < windows_; ++w) {
    double sum = 0, most = 0;
    for (int i = 0; i < 4; ++i) {
      const double value = y[static_cast<size_t>(pixel(w, i))];
      sum += value;
      most = std::max(most, value);
      const bool passes = found.mask[static_cast<size_t>(w)] >> i & 1;
      if (kind_ == FusedPool::average) {
        ASSERT_TRUE(passes || value <= 1e-5 * largest) << "window " << w << ", pixel " << i;
      }
    }
    ASSERT_NEAR(found.y.at(w), kind_ == FusedPool::max ? most : sum / 4, unit * most + 1e-5 * largest)
        << "window " << w;
  }
}

TEST_P(FusedPools, AsPassesEqualPlainLoops) {
  constexpr float kSpecial[] = {kNaN, -0.0f, 0, -INFINITY};
  Numbers y = random(v_.y_elements());
  for (int64_t i = 0; i < v_.y_elements(); ++i) {
    const auto choice = std::uniform_int_distribution<size_t>(0, 9)(lot_);
    if (choice < std::size(kSpecial)) y.set(i, kSpecial[choice]);
  }
  const Held y_memory(y, stream_);
  Memory<uint8_t> pooled(static_cast<size_t>(windows_) * size_of(dtype_), stream_),
      mask(static_cast<size_t>(windows_), stream_), whole(y.bytes.size(), stream_);
  for (const bool relu : {false, true}) {
    pooled.poison();
    mask.poison();
    pool_image(dtype_, v_, {kind_, mask.get()}, relu, y_memory.get(), pooled.get(), stream_);
    expect_equal({{dtype_, pooled.read()}, mask.read()}, pool(y, relu));
  }
  const Numbers dy = random(windows_);
  const std::vector<uint8_t> any_mask = random_mask();
  const Held dy_memory(dy, stream_);
  mask.set(any_mask);
  whole.poison();
  expand_gradient(dtype_, v_, {kind_, mask.get()}, dy_memory.get(), whole.get(), stream_);
  EXPECT_EQ(whole.read(), expand(dy, any_mask).bytes);
}

TEST_P(FusedPools, AreStoredPlainForLinearLayers) {
  const Numbers x = random(v_.x_elements()), weights = random(v_.weight_elements()), y = random(v_.y_elements());
  const Pooled expected = run(x, weights, {}, true), found = run(x, weights, {}, true, true);
  EXPECT_EQ(found.y.bytes, plain(expected.y).bytes);
  EXPECT_EQ(found.mask, expected.mask);
  const Held y_memory(y, stream_);
  Memory<uint8_t> pooled(expected.y.bytes.size(), stream_), mask(expected.mask.size(), stream_);
  pooled.poison();
  mask.poison();
  pool_image(dtype_, v_, {kind_, mask.get(), true}, true, y_memory.get(), pooled.get(), stream_);
  const Pooled of_pass = pool(y, true);
  EXPECT_EQ(pooled.read(), plain(of_pass.y).bytes);
  EXPECT_EQ(mask.read(), of_pass.mask);
}

TEST_P(FusedPools, ReadAPlainGradientOfLinearLayers) {
  const Numbers x = random(v_.x_elements()), dy = random(windows_);
  const std::vector<uint8_t> any_mask = random_mask();
  const WeightGradient expected = weight_gradient(x, dy, any_mask),
                       found = weight_gradient(x, plain(dy), any_mask, true);
  EXPECT_EQ(found.weights, expected.weights);
  EXPECT_EQ(found.bias, expected.bias);
  const Held dy_memory(plain(dy), stream_);
  Memory<uint8_t> mask(any_mask.size(), stream_),
      whole(static_cast<size_t>(v_.y_elements()) * size_of(dtype_), stream_);
  mask.set(any_mask);
  whole.poison();
  expand_gradient(dtype_, v_, {kind_, mask.get(), true}, dy_memory.get(), whole.get(), stream_);
  EXPECT_EQ(whole.read(), expand(dy, any_mask).bytes);
}

class FusedInputGradients : public FusedPools {};

TEST_P(FusedInputGradients, AreThoseOfTheWholeDy) {
  ASSERT_TRUE(takes_small_input_gradient(dtype_, v_, limits_));
  const Numbers dy = random(windows_), weights = random(v_.weight_elements());
  const std::vector<uint8_t> mask = random_mask();
  const Held dy_memory(dy, stream_), plain_memory(plain(dy), stream_), whole(expand(dy, mask), stream_),
      weights_memory(weights, stream_);
  Memory<uint8_t> mask_memory(mask.size(), stream_),
      dx(static_cast<size_t>(v_.x_elements()) * size_of(dtype_), stream_);
  mask_memory.set(mask);
  dx.poison();
  small_input_gradient(dtype_, v_, weights_memory.get(), whole.get(), {}, dx.get(), limits_, stream_);
  const std::vector<uint8_t> expected = dx.read();
  for (const bool is_plain : {false, true}) {
    dx.poison();
    small_input_gradient(dtype_, v_, weights_memory.get(), (is_plain ? plain_memory : dy_memory).get(),
                         {kind_, mask_memory.get(), is_plain}, dx.get(), limits_, stream_);
    EXPECT_EQ(dx.read(), expected);
  }
}

// A stem adds in another order.
TEST_P(FusedPools, MakeTheWeightGradientOfTheWholeDy) {
  const Numbers x = random(v_.x_elements()), dy = random(windows_);
  const std::vector<uint8_t> mask = random_mask();
  const WeightGradient expected = weight_gradient(x, expand(dy, mask), {}), found = weight_gradient(x, dy, mask);
  const double bound = v_.c == 1 ? 1e-5 : 0;
  const auto expect_near = [&](const std::vector<float>& f, const std::vector<float>& e) {
    double largest = 0;
    for (float value : e) largest = std::max<double>(largest, std::fabs(value));
    for (size_t i = 0; i < e.size(); ++i) ASSERT_NEAR(f[i], e[i], bound * largest) << "element " << i;
  };
  expect_near(found.weights, expected.weights);
  expect_near(found.bias, expected.bias);
}

constexpr FusedPool kAverage = FusedPool::average, kMax = FusedPool::max;

// The second convolutions of LeNets, channels that fill no word, padding, one stage and two, and
// one image on many multiprocessors.
const auto kSmall = testing::Values(Case{{DType::bf16, 5, 20, 50, {12, 12}, {5, 5}, {0, 0}}, kAverage},
                                    Case{{DType::f16, 5, 20, 50, {12, 12}, {5, 5}, {0, 0}}, kMax},
                                    Case{{DType::bf16, 3, 20, 50, {12, 12}, {5, 5}, {0, 0}, 132}, kAverage},
                                    Case{{DType::f32, 3, 20, 50, {12, 12}, {5, 5}, {0, 0}, 3, 227 << 10}, kAverage},
                                    Case{{DType::bf16, 33, 6, 16, {14, 14}, {5, 5}, {0, 0}, 4}, kMax},
                                    Case{{DType::f32, 7, 17, 31, {10, 12}, {3, 5}, {1, 2}}, kMax},
                                    Case{{DType::f16, 3, 2, 3, {6, 4}, {1, 1}, {0, 0}}, kAverage},
                                    Case{{DType::bf16, 1, 48, 24, {12, 12}, {3, 1}, {1, 0}, 132}, kAverage},
                                    Case{{DType::bf16, 9, 10, 21, {6, 8}, {7, 7}, {3, 3}, 2}, kMax},
                                    Case{{DType::bf16, 5, 6, 20, {12, 10}, {3, 3}, {1, 1}, 2}, kMax},
                                    Case{{DType::f32, 3, 5, 16, {8, 10}, {3, 3}, {1, 1}, 2}, kAverage});
INSTANTIATE_TEST_SUITE_P(Small, FusedPools, kSmall, testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Small, FusedInputGradients, kSmall, testing::PrintToStringParamName());

// Images of one channel: small and large kernels, one group of channels and several.
INSTANTIATE_TEST_SUITE_P(Stems, FusedPools,
                         testing::Values(Case{{DType::bf16, 3, 1, 20, {26, 26}, {3, 3}, {0, 0}, 2}, kAverage},
                                         Case{{DType::f16, 2, 1, 50, {14, 10}, {5, 5}, {2, 2}, 2}, kMax},
                                         Case{{DType::f32, 3, 1, 20, {26, 26}, {3, 3}, {0, 0}, 2}, kAverage},
                                         Case{{DType::f32, 2, 1, 7, {9, 13}, {4, 8}, {0, 0}, 2}, kMax},
                                         Case{{DType::bf16, 2, 1, 67, {12, 12}, {7, 7}, {3, 3}, 2}, kMax},
                                         Case{{DType::bf16, 2, 1, 64, {12, 10}, {3, 3}, {1, 1}, 2}, kAverage},
                                         Case{{DType::f32, 2, 1, 64, {8, 12}, {3, 3}, {1, 1}, 2}, kMax},
                                         Case{{DType::f16, 40, 1, 33, {8, 6}, {3, 3}, {1, 1}, 132}, kAverage}),
                         testing::PrintToStringParamName());

TEST(DifferenceOfMasks, CountsWindows) {
  EXPECT_EQ(difference_of_masks({15, 0, 8}, {15, 0, 8}), "");
  EXPECT_EQ(difference_of_masks({15, 1, 4}, {15, 0, 8}), "its mask differs in 2 of 3 windows");
}

}  // namespace
}  // namespace troika::cuda
