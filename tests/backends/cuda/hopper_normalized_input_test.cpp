// Kernels for Hopper that apply a batch_norm2d and a ReLU to their input: they compute to the bit
// what they compute from the normalised image.
#include <gtest/gtest.h>

#include <cmath>

#include "hopper_case.h"

namespace troika::cuda {
namespace {

class HopperNormalizedInput : public HopperTest {
 protected:
  void SetUp() override {
    HopperTest::SetUp();
    ASSERT_TRUE(hopper::normalizes_input(v_));
    const auto channels = static_cast<size_t>(v_.c);
    x_ = random_bf16(static_cast<size_t>(v_.x_elements()), lot_);
    for (std::vector<float>* numbers : {&mean_, &inv_std_, &weight_, &bias_}) {
      const float middle = numbers == &mean_ || numbers == &bias_ ? 0.25f : 1;
      for (size_t c = 0; c < channels; ++c) numbers->push_back(middle + std::normal_distribution<float>()(lot_) / 4);
    }
  }

  std::vector<uint16_t> normalized() const {
    std::vector<uint16_t> z;
    for (size_t i = 0; i < x_.size(); ++i) {
      const size_t c = i % mean_.size();
      const float value = std::fma(float_of_bf16(x_[i]) - mean_[c], weight_[c] * inv_std_[c], bias_[c]);
      z.push_back(bf16_of_float(value < 0 ? 0 : value));
    }
    return z;
  }

  // Calls compute(x, norm) with the normalised image and without a norm, and then with both.
  template <typename Compute>
  void compute_both(Compute compute) {
    Memory<uint16_t> x(x_.size(), stream_);
    x.set(normalized());
    compute(x.get(), hopper::NormalizedRelu{}, 0);
    const size_t channels = mean_.size();
    Memory<float> mean(channels, stream_), inv_std(channels, stream_), weight(channels, stream_),
        bias(channels, stream_);
    x.set(x_);
    mean.set(mean_);
    inv_std.set(inv_std_);
    weight.set(weight_);
    bias.set(bias_);
    compute(x.get(),
            hopper::NormalizedRelu{
                .mean = mean.get(), .inv_std = inv_std.get(), .weight = weight.get(), .bias = bias.get()},
            1);
  }

  std::vector<uint16_t> x_;
  std::vector<float> mean_, inv_std_, weight_, bias_;
};

TEST_P(HopperNormalizedInput, HasTheResultAndMomentsOfTheNormalizedImage) {
  const int multiprocessors = GetParam().multiprocessors, rows = hopper::rows_of_sums(v_, multiprocessors);
  const auto weights = random_bf16(static_cast<size_t>(v_.weight_elements()), lot_);
  Memory<uint16_t> weights_memory(weights.size(), stream_), y(static_cast<size_t>(v_.y_elements()), stream_);
  Memory<float> moments(static_cast<size_t>(rows * (2 * v_.k + 1)), stream_);
  weights_memory.set(weights);
  std::vector<uint16_t> found[2], found_alone[2];
  std::vector<float> found_moments[2];
  compute_both([&](const void* x, const hopper::NormalizedRelu& norm, int i) {
    y.poison();
    hopper::conv2d(v_, x, norm, weights_memory.get(), y.get(), nullptr, multiprocessors, stream_);
    found_alone[i] = y.read();
    y.poison();
    moments.poison();
    hopper::conv2d(v_, x, norm, weights_memory.get(), y.get(), moments.get(), multiprocessors, stream_);
    found[i] = y.read();
    found_moments[i] = moments.read();
  });
  EXPECT_EQ(found[1], found[0]);
  EXPECT_EQ(found_alone[1], found[0]);
  EXPECT_EQ(found_moments[1], found_moments[0]);
}

TEST_P(HopperNormalizedInput, HasTheWeightGradientOfTheNormalizedImage) {
  const int multiprocessors = GetParam().multiprocessors;
  const auto dy = random_bf16(static_cast<size_t>(v_.y_elements()), lot_);
  Memory<uint16_t> dy_memory(dy.size(), stream_);
  Memory<float> dweights(static_cast<size_t>(v_.weight_elements()), stream_),
      scratch(hopper::conv2d_weight_gradient_scratch_bytes(v_, multiprocessors) / sizeof(float), stream_);
  Memory<unsigned> turns(2, stream_);
  dy_memory.set(dy);
  turns.set({0, 0});
  std::vector<float> found[2];
  compute_both([&](const void* x, const hopper::NormalizedRelu& norm, int i) {
    scratch.poison();
    dweights.poison();
    hopper::conv2d_weight_gradient(v_, x, norm, dy_memory.get(), dweights.get(), scratch.get(), turns.get(),
                                   multiprocessors, stream_);
    found[i] = dweights.read();
  });
  EXPECT_EQ(found[1], found[0]);
}

// One tile in a block, and several that use each stage more than once.
INSTANTIATE_TEST_SUITE_P(Sizes, HopperNormalizedInput,
                         testing::Values(Case{same_size(1, 64, 28)}, Case{same_size(3, 64, 28), 2},
                                         Case{same_size(2, 64, 32), 3}, Case{same_size(1, 64, 56)},
                                         Case{same_size(1, 64, 28), 40}),
                         testing::PrintToStringParamName());

TEST(HopperNormalizedInputs, AreThoseOf64Channels) {
  EXPECT_TRUE(hopper::normalizes_input(same_size(2, 64, 56)));
  EXPECT_FALSE(hopper::normalizes_input(same_size(2, 64, 30)));
  EXPECT_FALSE(hopper::normalizes_input(same_size(2, 128, 14)));
  EXPECT_FALSE(hopper::normalizes_input(halving(2, 28)));
  EXPECT_FALSE(hopper::normalizes_input(one_by_one(2, 64, 64, 28, 28)));
}

}  // namespace
}  // namespace troika::cuda
