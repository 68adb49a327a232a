// Kernels of the weights' gradient for Hopper against plain loops in f64, on fresh random numbers
// with poisoned outputs. They run on such a GPU, and on a GPU in software.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "hopper_case.h"

namespace troika::cuda {
namespace {

// dweights [k][tap][c].
std::vector<double> weight_gradient(const Convolution& v, const std::vector<uint16_t>& x,
                                    const std::vector<uint16_t>& dy) {
  const int64_t x_pixels = v.x_size[0] * v.x_size[1], y_pixels = v.y_size[0] * v.y_size[1];
  const std::vector<float> in = to_floats(x), gradient = to_floats(dy);
  std::vector<double> dweights(static_cast<size_t>(v.weight_elements()));
  for (int64_t n = 0; n < v.n; ++n)
    for_each_pair(v, [&](int64_t x_pixel, int64_t tap, int64_t y_pixel) {
      const float* const from = in.data() + (n * x_pixels + x_pixel) * v.c;
      for (int64_t k = 0; k < v.k; ++k) {
        const double factor = gradient[static_cast<size_t>((n * y_pixels + y_pixel) * v.k + k)];
        double* const to = dweights.data() + (k * v.taps() + tap) * v.c;
        for (int64_t c = 0; c < v.c; ++c) to[c] += factor * from[c];
      }
    });
  return dweights;
}

class HopperWeightGradient : public HopperTest {
 protected:
  void SetUp() override {
    HopperTest::SetUp();
    ASSERT_TRUE(hopper::takes_weight_gradient(DType::bf16, v_));
  }

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
      hopper::conv2d_weight_gradient(v_, x_memory.get(), {}, dy_memory.get(), dweights.get(), scratch.get(),
                                     turns.get(), multiprocessors, stream_);
      f = dweights.read();
    }
    return found;
  }
};

TEST_P(HopperWeightGradient, EqualsPlainLoopsAndIsTheSameEachTime) {
  const auto x = random_bf16(static_cast<size_t>(v_.x_elements()), lot_),
             dy = random_bf16(static_cast<size_t>(v_.y_elements()), lot_);
  const auto [first, second] = compute(x, dy);
  EXPECT_EQ(first, second);
  const std::vector<double> expected = weight_gradient(v_, x, dy);
  double squares = 0;
  for (double e : expected) squares += e * e;
  const double typical = std::sqrt(squares / static_cast<double>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(first[i], expected[i], 1e-4 * typical) << "element " << i;
}

INSTANTIATE_TEST_SUITE_P(SameSize, HopperWeightGradient,
                         testing::Values(Case{same_size(1, 64, 28)}, Case{same_size(3, 64, 28)},
                                         Case{same_size(2, 64, 32)}, Case{same_size(1, 64, 56)},
                                         Case{same_size(18, 128, 14), 8}, Case{same_size(17, 128, 14), 13},
                                         Case{same_size(1, 256, 14)}, Case{same_size(37, 256, 7)},
                                         Case{same_size(19, 256, 7), 50}, Case{same_size(3, 512, 7)},
                                         Case{same_size(69, 512, 4)}),
                         testing::PrintToStringParamName());

// Blocks of 64 and of 128 output channels and of 64 to 256 input channels, one block or several
// with the same, and last tiles with a few pixels.
INSTANTIATE_TEST_SUITE_P(
    OneByOne, HopperWeightGradient,
    testing::Values(Case{one_by_one(1, 64, 64, 3, 3)}, Case{one_by_one(3, 64, 256, 7, 7), 7},
                    Case{one_by_one(1, 256, 64, 17, 17), 40}, Case{one_by_one(1, 512, 128, 14, 15), 2},
                    Case{one_by_one(1, 192, 320, 8, 9), 1}, Case{one_by_one(1, 128, 2048, 12, 12), 20},
                    Case{one_by_one(3, 128, 128, 14, 14, 2), 4}, Case{one_by_one(1, 64, 192, 56, 55, 2)},
                    Case{one_by_one(10, 256, 128, 7, 7, 2), 3}),
    testing::PrintToStringParamName());

// 3x3, from 128 channels on.
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

INSTANTIATE_TEST_SUITE_P(Sizes, HopperWideWeightGradient, testing::Values(Case{same_size(2, 256, 7)}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace troika::cuda
