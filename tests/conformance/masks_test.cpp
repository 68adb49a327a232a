// Masks of ReLUs, which GPUs write and read in 16 bits: each kernel with a mask computes what it
// computes with the ReLU's output.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "conformance/one_node.h"
#include "ops/batch_norm2d.h"
#include "ops/op_def.h"
#include "ops/products.h"

namespace troika {
namespace {

// The mask of an image, as batch_norm2d's kernel writes it: channels are the fastest.
Array mask_of(Array& y) {
  Array mask({y.elements() / 8});
  int64_t i = 0;
  for (int64_t n = 0; n < y.shape[0]; ++n)
    for (int64_t h = 0; h < y.shape[2]; ++h)
      for (int64_t w = 0; w < y.shape[3]; ++w)
        for (int64_t c = 0; c < y.shape[1]; ++c, ++i)
          if (!(y.at(n, c, h, w) <= 0)) mask[i / 8] += 1 << i % 8;
  return mask;
}

struct MaskCase {
  DType dtype;
  Shape shape;
};

class Masks : public OneNodeTest<MaskCase> {
 protected:
  // Half of the numbers are 0, and one is NaN.
  Array relu_output() {
    Array y = random_array(GetParam().shape, random_);
    for (double& v : y.data) v = std::max(v, 0.0);
    y[y.elements() / 3] = std::numeric_limits<double>::quiet_NaN();
    return y;
  }
};

TEST_P(Masks, HaveABitForEachElementThatTheReluLetsPass) {
  runner_.run([&] {
    OneNode node(batch_norm2d_op, {{"eps", 1e-5}, {"momentum", 0.1}, {"relu", int64_t{1}}, {"mask", int64_t{1}}});
    node.add_input(runner_, image(), random_array(GetParam().shape, random_));
    node.add_input(runner_, channel(), random_array(channel().shape, random_, 1));
    node.add_input(runner_, channel(), random_array(channel().shape, random_));
    for (int i = 0; i < 3; ++i) node.add_no_input();  // running statistics
    Array residual = random_array(GetParam().shape, random_);
    residual[7] = std::numeric_limits<double>::quiet_NaN();
    node.add_input(runner_, image(), residual);
    node.add_output(image());
    for (int i = 0; i < 2; ++i) node.add_output(channel());
    node.add_output(mask());
    std::vector<Array> found = node.run(runner_);
    EXPECT_TRUE(std::isnan(found[batch_norm2d::y][7]));
    EXPECT_EQ(found[batch_norm2d::mask].data, mask_of(found[batch_norm2d::y]).data);
  });
}

TEST_P(Masks, MakeTheGradientThatTheOutputMakes) {
  runner_.run([&] {
    Array y = relu_output();
    const Array x = random_array(GetParam().shape, random_), dy = random_array(GetParam().shape, random_),
                more = random_array(GetParam().shape, random_);
    for (const bool adds : {false, true}) {
      std::vector<Array> found[2];
      for (const bool is_masked : {false, true}) {
        OneNode node(batch_norm2d_gradient_op, {{"relu", int64_t{1}}, {"residual", int64_t{1}}});
        node.add_input(runner_, image(), x);
        for (const double mean : {1.0, 0.0, 1.0})  // weight, mean, inv_std
          node.add_input(runner_, channel(), random_array(channel().shape, random_, mean, 0));
        if (is_masked)
          node.add_input(runner_, mask(), mask_of(y));
        else
          node.add_input(runner_, image(), y);
        node.add_input(runner_, image(), dy);
        if (adds) {
          for (int i = 0; i < 2; ++i) node.add_no_input();
          node.add_input(runner_, image(), more);
        }
        node.add_output(image());
        for (int i = 0; i < 2; ++i) node.add_output(channel());
        node.add_output(image());
        found[is_masked] = node.run(runner_);
      }
      for (size_t i = 0; i < found[0].size(); ++i) EXPECT_EQ(found[1][i].data, found[0][i].data) << "output " << i;
      int64_t cut = 0;
      for (double v : found[1][batch_norm2d_gradient::dz].data) cut += v == 0;
      EXPECT_GT(cut, 0);
      EXPECT_LT(cut, y.elements());
    }
  });
}

// dx plus another gradient, cut by the mask, and its sums.
TEST_P(Masks, AreAppliedToAnInputGradientThatAddsAnother) {
  runner_.run([&] {
    const Shape &shape = GetParam().shape, dy_shape{shape[0], 24, shape[2], shape[3]};
    const int64_t channels = shape[1];
    const Attributes plain = {{"kernel", std::vector<int64_t>{3, 3}},
                              {"stride", std::vector<int64_t>{1, 1}},
                              {"padding", std::vector<int64_t>{1, 1}},
                              {"dilation", std::vector<int64_t>{1, 1}},
                              {"groups", int64_t{1}},
                              {"relu", int64_t{0}},
                              {"input_shape", shape.dims()}};
    Attributes with_sums = plain;
    with_sums.set("sums", int64_t{2});
    const TensorType weights{GetParam().dtype, {24, channels, 3, 3}}, dy{GetParam().dtype, dy_shape};
    const Array w = random_array(weights.shape, random_), d = random_array(dy_shape, random_);
    Array x = random_array(shape, random_), y = relu_output(), added = random_array(shape, random_);
    const Array mean = random_array(channel().shape, random_);

    OneNode without(conv2d_input_gradient_op, plain), with(conv2d_input_gradient_op, with_sums);
    for (OneNode* node : {&without, &with}) {
      node->add_input(runner_, weights, w);
      node->add_input(runner_, dy, d);
      node->add_output(image());
    }
    with.add_input(runner_, image(), x);
    with.add_input(runner_, mask(), mask_of(y));
    for (int i = 0; i < 2; ++i) with.add_input(runner_, channel(), random_array(channel().shape, random_));
    with.add_input(runner_, channel(), mean);
    with.add_input(runner_, channel(), random_array(channel().shape, random_));
    with.add_input(runner_, image(), added);
    const TensorType sums{DType::f32, {2, 2 * channels + 1}};
    with.add_output(sums);
    std::vector<Array> expected = without.run(runner_), found = with.run(runner_);

    const double unit = GetParam().dtype == DType::bf16 ? 1.0 / 128 : 1.0 / 1024;
    std::vector<double> totals(static_cast<size_t>(2 * channels + 1)), sizes = totals;
    for (int64_t n = 0; n < shape[0]; ++n)
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t h = 0; h < shape[2]; ++h)
          for (int64_t v = 0; v < shape[3]; ++v) {
            const double value = found[0].at(n, c, h, v), term = expected[0].at(n, c, h, v);
            const double sum = y.at(n, c, h, v) <= 0 ? 0 : term + added.at(n, c, h, v);
            ASSERT_NEAR(value, sum, unit * (std::abs(term) + std::abs(sum) + 1e-3) + (sum == 0 ? 0 : unit / 4));
            const double product = value * (x.at(n, c, h, v) - mean[c]);
            totals[static_cast<size_t>(1 + c)] += value;
            totals[static_cast<size_t>(1 + channels + c)] += product;
            sizes[static_cast<size_t>(1 + c)] += std::abs(value);
            sizes[static_cast<size_t>(1 + channels + c)] += std::abs(product);
          }
    totals[0] = static_cast<double>(shape[0] * shape[2] * shape[3]);
    const auto row = static_cast<int64_t>(totals.size());
    for (int64_t i = 0; i < row; ++i)
      EXPECT_NEAR(found[1][i] + found[1][row + i], totals[static_cast<size_t>(i)],
                  2 * unit * sizes[static_cast<size_t>(i)])
          << "sum " << i;
  });
}

INSTANTIATE_TEST_SUITE_P(Types, Masks,
                         testing::Values(MaskCase{DType::bf16, {3, 16, 5, 7}}, MaskCase{DType::f16, {1, 40, 3, 4}},
                                         MaskCase{DType::bf16, {2, 8, 9, 1}}));

}  // namespace
}  // namespace troika
