// The weight gradient of a linear layer of few outputs against plain loops in f64, on fresh random
// numbers with poisoned outputs and scratch. On a GPU, and on a GPU in software.
#include "backends/cuda/few_outputs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "core/float16.h"
#include "kernel_test.h"

namespace troika::cuda {
namespace {

// Numbers of a type, as its bits and as floats.
template <typename Bits>
struct Numbers {
  std::vector<Bits> bits;
  std::vector<float> values;

  Numbers(DType dtype, int64_t count, std::mt19937_64& lot) {
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < count; ++i) {
      const float value = normal(lot);
      if constexpr (std::is_same_v<Bits, float>) {
        bits.push_back(value);
        values.push_back(value);
      } else {
        bits.push_back(dtype == DType::bf16 ? bf16_of_float(value) : f16_of_float(value));
        values.push_back(dtype == DType::bf16 ? float_of_bf16(bits.back()) : float_of_f16(bits.back()));
      }
    }
  }
};

// The gradients in f64, and the sums of the terms' absolute values.
struct Expected {
  std::vector<double> sums, sizes;

  explicit Expected(int64_t count) : sums(static_cast<size_t>(count)), sizes(sums.size()) {}
  void add(int64_t i, double term) {
    sums[static_cast<size_t>(i)] += term;
    sizes[static_cast<size_t>(i)] += std::fabs(term);
  }
};

void expect_sums(const std::vector<float>& found, const Expected& expected) {
  for (size_t i = 0; i < expected.sums.size(); ++i)
    ASSERT_NEAR(found[i], expected.sums[i], 2e-6 * expected.sizes[i]) << "element " << i;
  for (size_t i = expected.sums.size(); i < found.size(); ++i)
    ASSERT_TRUE(std::isnan(found[i])) << "element " << i << ", which is none, was written";
}

void expect_equal_bits(const std::vector<float>& found, const std::vector<float>& expected) {
  ASSERT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)), 0);
}

template <typename Bits>
void expect_gradient(DType dtype, const FewOutputs& s, bool bias, std::mt19937_64& lot, cudaStream_t stream) {
  SCOPED_TRACE(testing::Message() << name_of(dtype) << ", " << s.rows << " rows, " << s.outputs << " outputs, "
                                  << s.features << " features" << (bias ? ", bias" : ""));
  constexpr size_t kGuard = 64;
  const Numbers<Bits> dy(dtype, s.rows * s.outputs, lot), x(dtype, s.rows * s.features, lot);
  const size_t scratch_bytes = few_outputs_scratch_bytes(dtype, s);
  Memory<Bits> on_dy(dy.bits.size(), stream), on_x(x.bits.size(), stream);
  Memory<float> dweights(static_cast<size_t>(s.outputs * s.features) + kGuard, stream),
      dbias(static_cast<size_t>(s.outputs) + kGuard, stream), scratch(scratch_bytes / sizeof(float) + kGuard, stream);
  on_dy.set(dy.bits);
  on_x.set(x.bits);
  const auto run = [&] {
    for (Memory<float>* memory : {&dweights, &dbias, &scratch}) memory->poison();
    few_outputs_weight_gradient(dtype, s, on_dy.get(), on_x.get(), dweights.get(), bias ? dbias.get() : nullptr,
                                scratch_bytes ? scratch.get() : nullptr, stream);
    check(cudaGetLastError(), "the weight gradient");
  };
  run();
  const std::vector<float> first = dweights.read(), first_bias = dbias.read(), used = scratch.read();
  for (size_t i = scratch_bytes / sizeof(float); i < used.size(); ++i) ASSERT_TRUE(std::isnan(used[i])) << i;

  Expected weights(s.outputs * s.features), sums(bias ? s.outputs : 0);
  for (int64_t row = 0; row < s.rows; ++row)
    for (int64_t o = 0; o < s.outputs; ++o) {
      const double g = dy.values[static_cast<size_t>(row * s.outputs + o)];
      if (bias) sums.add(o, g);
      for (int64_t f = 0; f < s.features; ++f)
        weights.add(o * s.features + f, g * x.values[static_cast<size_t>(row * s.features + f)]);
    }
  expect_sums(first, weights);
  expect_sums(first_bias, sums);
  run();
  expect_equal_bits(dweights.read(), first);
  expect_equal_bits(dbias.read(), first_bias);
}

class FewOutputsTest : public KernelTest<DType, 80> {
 protected:
  void expect(const FewOutputs& sizes) {
    for (bool bias : {true, false})
      if (GetParam() == DType::f32)
        expect_gradient<float>(GetParam(), sizes, bias, lot_, stream_);
      else
        expect_gradient<uint16_t>(GetParam(), sizes, bias, lot_, stream_);
  }
};

TEST_P(FewOutputsTest, takes_each_number_of_outputs) {
  for (int64_t outputs = 1; outputs <= FewOutputs::kMost; ++outputs) expect({65 + 2 * outputs, outputs, 72});
}

// Packs of 16 bytes, of 2 elements and of 1; whole tiles of columns, and parts.
TEST_P(FewOutputsTest, takes_each_number_of_features) {
  for (int64_t features : {1, 2, 7, 8, 33, 84, 128, 250, 520}) expect({131, 10, features});
}

// Threads without a row; one chunk of rows, and several, of which the last one is short.
TEST_P(FewOutputsTest, takes_each_number_of_rows) {
  for (int64_t rows : {1, 2, 31, 63, 64, 127, 128, 129, 1023}) expect({rows, 10, 24});
}

TEST_P(FewOutputsTest, takes_more_rows_than_the_most_chunks_have) { expect({4099, 16, 1024}); }

class FewOutputsNumbers : public KernelTest<DType, 80> {};

TEST_P(FewOutputsNumbers, keep_a_number_that_is_not_finite) {
  const FewOutputs s{70, 3, 16};
  std::vector<float> dy(static_cast<size_t>(s.rows * s.outputs), 1), x(static_cast<size_t>(s.rows * s.features), 1);
  x[69 * 16 + 5] = INFINITY;
  dy[10 * 3 + 1] = NAN;
  Memory<float> on_dy(dy.size(), stream_), on_x(x.size(), stream_), dweights(48, stream_), dbias(3, stream_),
      scratch(few_outputs_scratch_bytes(DType::f32, s) / sizeof(float) + 1, stream_);
  on_dy.set(dy);
  on_x.set(x);
  few_outputs_weight_gradient(DType::f32, s, on_dy.get(), on_x.get(), dweights.get(), dbias.get(), scratch.get(),
                              stream_);
  const std::vector<float> found = dweights.read(), bias = dbias.read();
  for (size_t o = 0; o < 3; ++o) {
    EXPECT_EQ(std::isnan(bias[o]), o == 1);
    for (size_t f = 0; f < 16; ++f) {
      EXPECT_EQ(std::isnan(found[o * 16 + f]), o == 1) << o << ", " << f;
      EXPECT_EQ(std::isinf(found[o * 16 + f]), o != 1 && f == 5) << o << ", " << f;
    }
  }
}

constexpr auto kName = [](const auto& type) { return std::string(name_of(type.param)); };
INSTANTIATE_TEST_SUITE_P(Types, FewOutputsTest, testing::Values(DType::f32, DType::bf16, DType::f16), kName);
INSTANTIATE_TEST_SUITE_P(Types, FewOutputsNumbers, testing::Values(DType::f32), kName);

}  // namespace
}  // namespace troika::cuda
