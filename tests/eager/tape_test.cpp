// Gradients from a record of ops, against finite differences and against formulas.
#include "eager/tape.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "support/test_context.h"
#include "support/test_device.h"
#include "support/test_seed.h"
#include "support/throws.h"

namespace troika {
namespace {

struct Recorded {
  TensorPtr tensor;
  ValueId id = kNoValue;
};

class TapeTest : public ::testing::Test {
 protected:
  TensorPtr tensor(const Shape& shape, const std::vector<float>& numbers) {
    TensorPtr made = device_.create({DType::f32, shape});
    made->write(numbers.data());
    return made;
  }
  TensorPtr random_tensor(const Shape& shape) {
    std::vector<float> numbers(static_cast<size_t>(shape.elements()));
    std::normal_distribution<float> normal;
    for (float& v : numbers) v = normal(random_);
    return tensor(shape, numbers);
  }
  static std::vector<float> numbers_of(const TensorPtr& tensor) {
    std::vector<float> numbers(static_cast<size_t>(tensor->type().shape.elements()));
    tensor->read(numbers.data());
    return numbers;
  }
  Recorded watch(Tape& tape, const TensorPtr& x) { return {x, tape.watch(x)}; }
  Recorded run(Tape& tape, const OpDef& op, const std::vector<Recorded>& inputs, const Attributes& attributes = {}) {
    std::vector<TensorPtr> tensors;
    std::vector<ValueId> ids;
    for (const Recorded& input : inputs) {
      tensors.push_back(input.tensor);
      ids.push_back(input.id);
    }
    Recorded result;
    result.tensor = tape.run(device_, op, tensors, ids, attributes, result.id)[0];
    return result;
  }
  Recorded sum_all(Tape& tape, const Recorded& x) {
    return run(tape, sum_axes_op, {x},
               {{"begin", int64_t{0}}, {"end", int64_t{x.tensor->type().shape.rank()}}, {"factor", 1.0}});
  }

  // Compares the gradients of `program(tape, inputs)`, a number, with central differences.
  template <typename Program>
  void expect_slopes(const std::vector<Shape>& shapes, Program program) {
    std::vector<TensorPtr> inputs;
    for (const Shape& shape : shapes) inputs.push_back(random_tensor(shape));
    const auto evaluate = [&](Tape& tape, std::vector<Recorded>& watched) {
      for (const TensorPtr& input : inputs) watched.push_back(watch(tape, input));
      return program(tape, watched);
    };
    Tape tape;
    std::vector<Recorded> watched;
    const Recorded y = evaluate(tape, watched);
    std::vector<ValueId> wanted;
    for (const Recorded& w : watched) wanted.push_back(w.id);
    const std::vector<TensorPtr> gradients = tape.gradients(y.id, wanted);
    for (size_t k = 0; k < inputs.size(); ++k) {
      ASSERT_EQ(gradients[k]->type(), inputs[k]->type());
      const std::vector<float> gradient = numbers_of(gradients[k]), at = numbers_of(inputs[k]);
      for (size_t i = 0; i < at.size(); ++i) {
        constexpr float kStep = 1e-2f;
        double ends[2] = {};
        for (int side = 0; side < 2; ++side) {
          std::vector<float> moved = at;
          moved[i] += side ? kStep : -kStep;
          inputs[k]->write(moved.data());
          Tape other;
          std::vector<Recorded> again;
          ends[side] = numbers_of(evaluate(other, again).tensor)[0];
        }
        inputs[k]->write(at.data());
        const double slope = (ends[1] - ends[0]) / (2 * kStep);
        EXPECT_NEAR(gradient[i], slope, 2e-3 + 2e-2 * std::abs(slope)) << "input " << k << ", element " << i;
      }
    }
  }

  EagerDevice device_{BackendRegistry::create(test_backends())->open(test_device(), {2, {}, false})};
  std::mt19937 random_{static_cast<unsigned>(test_seed())};
};

TEST_F(TapeTest, a_layer_of_matrices_with_a_bias) {
  expect_slopes({{3, 4}, {4, 2}, {2}}, [&](Tape& tape, std::vector<Recorded>& v) {
    const Recorded y = run(tape, add_op, {run(tape, matmul_op, {v[0], v[1]}), v[2]}, {{"broadcast", int64_t{1}}});
    return sum_all(tape, run(tape, sigmoid_op, {y}));
  });
}

TEST_F(TapeTest, a_value_that_is_read_several_times) {
  expect_slopes({{5}}, [&](Tape& tape, std::vector<Recorded>& v) {
    const Recorded square = run(tape, multiply_op, {v[0], v[0]});
    return sum_all(tape, run(tape, multiply_op, {square, run(tape, tanh_op, {v[0]})}));
  });
}

TEST_F(TapeTest, views_slices_and_joins) {
  expect_slopes({{2, 6}}, [&](Tape& tape, std::vector<Recorded>& v) {
    const auto part = [&](int64_t begin, int64_t end) {
      return run(tape, slice_channels_op, {v[0]}, {{"begin", begin}, {"end", end}});
    };
    const Recorded joined = run(tape, join_steps_op, {part(3, 6), part(0, 2)});
    const Recorded seen =
        run(tape, reshape_op, {joined}, {{"shape", std::vector<int64_t>{5, 2}}, {"whole", int64_t{1}}});
    const Recorded turned = run(tape, transpose_op, {seen}, {{"order", std::vector<int64_t>{1, 0}}});
    return sum_all(tape, run(tape, multiply_op, {turned, run(tape, softmax_op, {turned}, {{"axis", int64_t{1}}})}));
  });
}

TEST_F(TapeTest, norms_and_quotients) {
  expect_slopes({{3, 4}, {4}, {4}}, [&](Tape& tape, std::vector<Recorded>& v) {
    const Recorded y = run(tape, layer_norm_op, {v[0], v[1], v[2]}, {{"axis", int64_t{1}}, {"eps", 1e-3}});
    const Recorded e = run(tape, exp_op, {run(tape, scale_op, {y}, {{"factor", 0.3}, {"offset", 0.1}})});
    const Recorded total = run(tape, sum_axes_op, {e},
                               {{"begin", int64_t{1}}, {"end", int64_t{2}}, {"keep", int64_t{1}}, {"factor", 1.0}});
    return sum_all(tape, run(tape, divide_op, {run(tape, multiply_op, {e, e}), total}, {{"broadcast", int64_t{1}}}));
  });
}

TEST_F(TapeTest, a_convolution_with_pooling) {
  const std::vector<int64_t> ones{1, 1}, twos{2, 2}, zeros{0, 0}, threes{3, 3};
  expect_slopes({{2, 1, 6, 6}, {2, 1, 3, 3}, {2}}, [&](Tape& tape, std::vector<Recorded>& v) {
    const Recorded y =
        run(tape, conv2d_op, {v[0], v[1], v[2]},
            {{"kernel", threes}, {"stride", ones}, {"padding", zeros}, {"dilation", ones}, {"groups", int64_t{1}}});
    const Recorded pooled =
        run(tape, avg_pool2d_op, {run(tape, tanh_op, {y})},
            {{"kernel", twos}, {"stride", twos}, {"padding", zeros}, {"count_include_pad", int64_t{1}}});
    return sum_all(tape, run(tape, multiply_op, {pooled, pooled}));
  });
}

TEST_F(TapeTest, losses_of_labels) {
  TensorPtr labels = device_.create({DType::i32, {3}});
  const int32_t numbers[] = {2, 0, 1};
  labels->write(numbers);
  expect_slopes({{3, 4}}, [&](Tape& tape, std::vector<Recorded>& v) {
    return sum_all(tape, run(tape, label_losses_op, {v[0], Recorded{labels}}));
  });
}

// d/dx of sum(x y) is y and of sum(x) is 1; both from one record, and again.
TEST_F(TapeTest, several_numbers_of_one_record_and_constants) {
  Tape tape;
  const Recorded x = watch(tape, tensor({3}, {1, 2, 3}));
  const Recorded constant{tensor({3}, {4, 5, 6})};
  const Recorded product = sum_all(tape, run(tape, multiply_op, {x, constant})), plain = sum_all(tape, x);
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(numbers_of(tape.gradients(product.id, {x.id})[0]), (std::vector<float>{4, 5, 6}));
    EXPECT_EQ(numbers_of(tape.gradients(plain.id, {x.id})[0]), (std::vector<float>{1, 1, 1}));
  }
}

TEST_F(TapeTest, refuses_what_has_no_gradient) {
  Tape tape;
  const Recorded x = watch(tape, tensor({3}, {1, 2, 3})), unread = watch(tape, tensor({1}, {1}));
  const Recorded y = run(tape, scale_op, {x}, {{"factor", 2.0}, {"offset", 0.0}});
  EXPECT_THROWS(Status::invalid_argument, "the tensor has shape [3], need one number", tape.gradients(y.id, {x.id}));
  const Recorded sum = sum_all(tape, y);
  EXPECT_THROWS(Status::invalid_argument, "the number does not depend on tensor 1 of the list",
                tape.gradients(sum.id, {x.id, unread.id}));
  EXPECT_THROWS(Status::invalid_argument, "no operation made the number", tape.gradients(unread.id, {unread.id}));
}

}  // namespace
}  // namespace troika
