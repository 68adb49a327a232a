// Convolutions that apply a batch_norm2d and a ReLU to their input, on GPUs: they compute what they
// compute from the normalised image.
#include <cmath>

#include "conformance/one_node.h"
#include "ops/op_def.h"
#include "ops/products.h"

namespace troika {
namespace {

struct NormalizedCase {
  DType dtype;
  Shape shape;
  int64_t channels;  // of y
};

class NormalizedInputs : public OneNodeTest<NormalizedCase> {
 protected:
  void SetUp() override {
    OneNodeTest::SetUp();
    mean_ = random_array(channel().shape, random_, 0, 0.25);
    inv_std_ = random_array(channel().shape, random_, 1, 0.1);
    weight_ = random_array(channel().shape, random_, 1, 0.1);
    bias_ = random_array(channel().shape, random_, 0, 0.25);
    x_ = random_array(image().shape, random_);
    z_ = x_;
    for (int64_t n = 0; n < x_.shape[0]; ++n)
      for (int64_t c = 0; c < x_.shape[1]; ++c)
        for (int64_t h = 0; h < x_.shape[2]; ++h)
          for (int64_t w = 0; w < x_.shape[3]; ++w) {
            // Numbers near 0 are moved away: rounded, the ReLU might cut them or not.
            constexpr double kLeast = 1.0 / 8;
            const double scale = weight_[c] * inv_std_[c];
            double& x = x_.at(n, c, h, w);
            double z = (x - mean_[c]) * scale + bias_[c];
            if (std::abs(z) < kLeast) {
              z = std::copysign(kLeast, z);
              x = mean_[c] + (z - bias_[c]) / scale;
            }
            z_.at(n, c, h, w) = std::max(0.0, z);
          }
  }

  TensorType result() const {
    TensorType type = image();
    type.shape[1] = GetParam().channels;
    return type;
  }
  Shape filter() const { return {GetParam().channels, GetParam().shape[1], 3, 3}; }
  static Attributes window() {
    const std::vector<int64_t> ones = {1, 1};
    return {{"kernel", std::vector<int64_t>{3, 3}},
            {"stride", ones},
            {"padding", ones},
            {"dilation", ones},
            {"groups", int64_t{1}},
            {"relu", int64_t{0}}};
  }
  void add_norm(OneNode& node) {
    for (const Array* numbers : {&weight_, &bias_, &mean_, &inv_std_}) node.add_input(runner_, channel(), *numbers);
  }
  // The types round otherwise in the one case than in the other. The test compares `count` elements
  // from `begin` on, of each `period` elements.
  static void expect_near(const Array& found, const Array& expected, int64_t begin, int64_t count, int64_t period) {
    double largest = 0;
    const auto is_of = [=](int64_t i) { return i % period >= begin && i % period < begin + count; };
    for (int64_t i = 0; i < expected.elements(); ++i)
      if (is_of(i)) largest = std::max(largest, std::abs(expected[i]));
    for (int64_t i = 0; i < expected.elements(); ++i) {
      if (!is_of(i)) continue;
      ASSERT_NEAR(found[i], expected[i], 0x1p-6 * largest) << "element " << i;
    }
  }
  static void expect_near(const Array& found, const Array& expected) { expect_near(found, expected, 0, 1, 1); }
  // Rows of sums: a count, and two numbers per channel.
  static void expect_sums_near(const Array& found, const Array& expected) {
    const int64_t period = expected.shape[1], channels = period / 2;
    expect_near(found, expected, 0, 1, period);
    expect_near(found, expected, 1, channels, period);
    expect_near(found, expected, 1 + channels, channels, period);
  }

  Array mean_{Shape{}}, inv_std_{Shape{}}, weight_{Shape{}}, bias_{Shape{}}, x_{Shape{}}, z_{Shape{}};
};

TEST_P(NormalizedInputs, HaveTheResultOfTheNormalizedImage) {
  runner_.run([&] {
    const Array filters = random_array(filter(), random_);
    for (const bool has_sums : {false, true}) {
      std::vector<Array> found[2];
      for (const bool normalizes : {false, true}) {
        Attributes attributes = window();
        if (normalizes) attributes.set("normalizes", int64_t{1});
        if (has_sums) attributes.set("sums", int64_t{2});
        OneNode node(conv2d_op, attributes);
        node.add_input(runner_, image(), normalizes ? x_ : z_);
        node.add_input(runner_, {GetParam().dtype, filter()}, filters);
        node.add_no_input();
        if (normalizes) add_norm(node);
        node.add_output(result());
        if (has_sums) node.add_output({DType::f32, {2, 2 * GetParam().channels + 1}});
        found[normalizes] = node.run(runner_);
      }
      expect_near(found[1][0], found[0][0]);
      if (has_sums) expect_sums_near(found[1][1], found[0][1]);
    }
  });
}

TEST_P(NormalizedInputs, HaveTheWeightGradientOfTheNormalizedImage) {
  runner_.run([&] {
    const Array dy = random_array(result().shape, random_);
    std::vector<Array> found[2];
    for (const bool normalizes : {false, true}) {
      Attributes attributes = window();
      attributes.set("bias", int64_t{0});
      attributes.set("weight_shape", filter().dims());
      if (normalizes) attributes.set("normalizes", int64_t{1});
      OneNode node(conv2d_weight_gradient_op, attributes);
      node.add_input(runner_, image(), normalizes ? x_ : z_);
      node.add_input(runner_, result(), dy);
      if (normalizes) add_norm(node);
      node.add_output({DType::f32, filter()});
      found[normalizes] = node.run(runner_);
    }
    expect_near(found[1][0], found[0][0]);
  });
}

// The input gradient computes what the ReLU has cut from batch_norm2d's input.
TEST_P(NormalizedInputs, AreNotReadByTheGradientOfTheRelu) {
  runner_.run([&] {
    const Array dy = random_array(result().shape, random_), filters = random_array(filter(), random_);
    std::vector<Array> found[2];
    for (const bool has_y : {false, true}) {
      Attributes attributes = window();
      attributes.set("input_shape", image().shape.dims());
      attributes.set("sums", int64_t{1});
      OneNode node(conv2d_input_gradient_op, attributes);
      node.add_input(runner_, {GetParam().dtype, filter()}, filters);
      node.add_input(runner_, result(), dy);
      node.add_input(runner_, image(), x_);
      if (has_y)
        node.add_input(runner_, image(), z_);
      else
        node.add_no_input();
      add_norm(node);
      node.add_output(image());
      node.add_output({DType::f32, {1, 2 * GetParam().shape[1] + 1}});
      found[has_y] = node.run(runner_);
    }
    expect_near(found[0][input_gradient::dx], found[1][input_gradient::dx]);
    expect_sums_near(found[0][input_gradient::sums], found[1][input_gradient::sums]);
    int64_t cut = 0;
    for (double v : found[0][input_gradient::dx].data) cut += v == 0;
    EXPECT_GT(cut, x_.elements() / 4);
    EXPECT_LT(cut, x_.elements() * 3 / 4);
  });
}

INSTANTIATE_TEST_SUITE_P(Types, NormalizedInputs,
                         testing::Values(NormalizedCase{DType::bf16, {2, 16, 5, 7}, 8},
                                         NormalizedCase{DType::f16, {3, 8, 4, 4}, 24},
                                         NormalizedCase{DType::f32, {1, 12, 6, 3}, 5}));

}  // namespace
}  // namespace troika
