// Addends with gaps, which GPUs add within batch_norm2d's gradient: an image that is stored without
// its zeros adds what the image with them adds.
#include <gtest/gtest.h>

#include "conformance/one_node.h"
#include "ops/addend.h"
#include "ops/batch_norm2d.h"
#include "ops/op_def.h"

namespace troika {
namespace {

enum class Relu { none, by_output, by_mask };

struct GapsCase {
  DType dtype;
  Shape shape;
  int64_t stride;
  Relu relu = Relu::by_output;
};

class Gaps : public OneNodeTest<GapsCase> {
 protected:
  TensorType small_image() const { return addend_type(image(), GetParam().stride); }
  // The small image with zeros between its pixels.
  Array spread(Array& small) const {
    Array whole(GetParam().shape);
    const int64_t stride = GetParam().stride;
    for (int64_t n = 0; n < small.shape[0]; ++n)
      for (int64_t c = 0; c < small.shape[1]; ++c)
        for (int64_t h = 0; h < small.shape[2]; ++h)
          for (int64_t w = 0; w < small.shape[3]; ++w) whole.at(n, c, h * stride, w * stride) = small.at(n, c, h, w);
    return whole;
  }
};

TEST_P(Gaps, AreZeros) {
  runner_.run([&] {
    const Shape& shape = GetParam().shape;
    const Array x = random_array(shape, random_), y = random_array(shape, random_), dy = random_array(shape, random_);
    Array bits_of_relu(mask().shape);
    for (double& bits : bits_of_relu.data) bits = static_cast<double>(random_.integer(256));
    Array small = random_array(small_image().shape, random_);
    const Array weight = random_array(channel().shape, random_, 1), mean = random_array(channel().shape, random_),
                inv_std = random_array(channel().shape, random_, 2, 0.1);
    const auto run = [&](const TensorType& type, const Array& addend, Attributes attributes) {
      OneNode node(batch_norm2d_gradient_op, std::move(attributes));
      node.add_input(runner_, image(), x);
      for (const Array* of_channels : {&weight, &mean, &inv_std}) node.add_input(runner_, channel(), *of_channels);
      switch (GetParam().relu) {
        case Relu::none: node.add_no_input(); break;
        case Relu::by_output: node.add_input(runner_, image(), y); break;
        case Relu::by_mask: node.add_input(runner_, mask(), bits_of_relu); break;
      }
      node.add_input(runner_, image(), dy);
      for (int i = 0; i < 2; ++i) node.add_no_input();
      node.add_input(runner_, type, addend);
      node.add_output(image());
      for (int i = 0; i < 2; ++i) node.add_output(channel());
      node.add_output(image());
      return node.run(runner_);
    };
    Attributes attributes = {{"relu", int64_t{GetParam().relu != Relu::none}}, {"residual", int64_t{1}}};
    const std::vector<Array> expected = run(image(), spread(small), attributes),
                             without = run(image(), Array(shape), attributes);
    attributes.set("addend_stride", GetParam().stride);
    const std::vector<Array> found = run(small_image(), small, attributes);
    for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].data, expected[i].data) << "output " << i;
    EXPECT_NE(found[batch_norm2d_gradient::dz].data, without[batch_norm2d_gradient::dz].data);
  });
}

INSTANTIATE_TEST_SUITE_P(
    Types, Gaps,
    testing::Values(GapsCase{DType::bf16, {3, 16, 6, 8}, 2}, GapsCase{DType::bf16, {2, 64, 7, 7}, 2, Relu::by_mask},
                    GapsCase{DType::f16, {2, 10, 5, 4}, 2, Relu::none}, GapsCase{DType::f32, {40, 12, 9, 7}, 2},
                    GapsCase{DType::f32, {1, 17, 8, 11}, 3, Relu::none}, GapsCase{DType::bf16, {5, 8, 1, 2}, 2},
                    GapsCase{DType::f16, {300, 8, 3, 1}, 4}));

}  // namespace
}  // namespace troika
