// Operations on tensors, and their gradients.
#include "tests.h"

#include <array>
#include <cmath>
#include <thread>

namespace {

using Longs = std::vector<std::int64_t>;
using Bytes = std::vector<unsigned char>;

class Operations : public ::testing::Test {
 protected:
  Tensor make(Span<const std::int64_t> dims, std::initializer_list<float> numbers, Device device = {}) const {
    return Tensor(context_, device, dims, numbers);
  }
  // Expects a tensor of f32.
  static void expect(const Tensor& found, const Dims& dims, const Floats& numbers) {
    EXPECT_EQ(found.describe().dims, dims);
    EXPECT_EQ(found.to_host<float>(), numbers);
  }
  // Expects numbers that are rounded.
  static void expect_near(const Tensor& found, const std::vector<double>& numbers) {
    const Floats values = found.to_host<float>();
    ASSERT_EQ(values.size(), numbers.size());
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], numbers[i], 2e-6) << i;
  }
  const Context context_;
};

TEST_F(Operations, MakeTensors) {
  expect(Tensor::full(context_, "cpu", Dtype::f32, {2, 2}, 1.5), {2, 2}, {1.5, 1.5, 1.5, 1.5});
  EXPECT_EQ(Tensor::full(context_, "cpu:1", Dtype::i64, {}, -7).to_host<std::int64_t>(), Longs{-7});
  expect(Tensor::arange(context_, "cpu", Dtype::f32, 20, -0.5, 3), {3}, {20, 19.5, 19});
  const Dims dims = {100, 90};
  const Floats uniform = Tensor::uniform(context_, "cpu:0", Dtype::f32, dims, -1, 2, 7).to_host<float>();
  EXPECT_EQ(Tensor::uniform(context_, "cpu:1", Dtype::f32, dims, -1, 2, 7).to_host<float>(), uniform);
  EXPECT_GE(*std::min_element(uniform.begin(), uniform.end()), -1.0f);
  EXPECT_LT(*std::max_element(uniform.begin(), uniform.end()), 2.0f);
  const Tensor normal = Tensor::normal(context_, "cpu", Dtype::f32, dims, 3, 0.5);
  EXPECT_NEAR(normal.mean().to_host<float>()[0], 3.0, 0.05);
  EXPECT_NEAR((normal - 3).norm().to_host<float>()[0], 0.5 * std::sqrt(9000.0), 1.0);
  expect_error(Status::unsupported, "dtype is f8_e4m3", [&] { Tensor::full(context_, "cpu", Dtype::f8_e4m3, {1}, 0); });
  expect_error(Status::invalid_argument, "-1", [&] { Tensor::arange(context_, "cpu", Dtype::f32, 0, 1, -1); });
  expect_error(Status::invalid_argument, "low is 2, needs at most high, which is 1",
               [&] { Tensor::uniform(context_, "cpu", Dtype::f32, {2}, 2, 1); });
  expect_error(Status::invalid_argument, "deviation is -1",
               [&] { Tensor::normal(context_, "cpu", Dtype::f32, {2}, 0, -1); });
}

TEST_F(Operations, TakeTwoTensors) {
  const Tensor a = make({2, 3}, {1, 2, 3, 4, 5, 6}), row = make({3}, {10, 20, 30}), column = make({2, 1}, {2, 4});
  expect(a.add(row), {2, 3}, {11, 22, 33, 14, 25, 36});
  expect(row.subtract(a), {2, 3}, {9, 18, 27, 6, 15, 24});
  expect(a.multiply(column), {2, 3}, {2, 4, 6, 16, 20, 24});
  expect(a.divide(column), {2, 3}, {0.5, 1, 1.5, 1, 1.25, 1.5});
  expect(a + row, {2, 3}, {11, 22, 33, 14, 25, 36});
  expect(row - a, {2, 3}, {9, 18, 27, 6, 15, 24});
  expect(a * column, {2, 3}, {2, 4, 6, 16, 20, 24});
  expect(a / column, {2, 3}, {0.5, 1, 1.5, 1, 1.25, 1.5});
  EXPECT_EQ(a.compare(column, Relation::greater).to_host<unsigned char>(), (Bytes{0, 0, 1, 0, 1, 1}));
  EXPECT_EQ(a.compare(column, Relation::less_or_equal).to_host<unsigned char>(), (Bytes{1, 1, 0, 1, 0, 0}));
  expect_error(Status::invalid_argument, "relation is 9", [&] { a.compare(a, static_cast<Relation>(9)); });
  expect_error(Status::invalid_argument, "shapes [2, 3] and [2]", [&] { a + make({2}, {1, 2}); });
  expect_error(Status::invalid_argument, "tensors are on cpu:0 and cpu:1", [&] { a + row.to("cpu:1"); });
  expect_error(Status::unsupported, "argument 'b' is i64", [&] { a.add(row.cast(Dtype::i64)); });
  expect_misuse<std::logic_error>("Tensor: it is closed, need an open one", [&] { a + Tensor(); });
}

TEST_F(Operations, TakeNumbers) {
  const Tensor x = make({2}, {1, 2});
  expect(x + 2, {2}, {3, 4});
  expect(2 + x, {2}, {3, 4});
  expect(x - 2, {2}, {-1, 0});
  expect(2 - x, {2}, {1, 0});
  expect(x * 2.0f, {2}, {2, 4});
  expect(2.0 * x, {2}, {2, 4});
  expect(x / 2, {2}, {0.5, 1});
  expect(-x, {2}, {-1, -2});
  expect(x.scale(2, 1), {2}, {3, 5});
  expect(x, {2}, {1, 2});
}

TEST_F(Operations, MapNumbers) {
  const Tensor x = make({4}, {-2, -0.5, 0, 3});
  const std::pair<Tensor, double (*)(double)> maps[] = {
      {x.relu(), [](double v) { return std::max(v, 0.0); }},
      {x.sigmoid(), [](double v) { return 1 / (1 + std::exp(-v)); }},
      {x.tanh(), [](double v) { return std::tanh(v); }},
      {x.gelu(), [](double v) { return v * 0.5 * std::erfc(-v / std::sqrt(2.0)); }},
      {x.silu(), [](double v) { return v / (1 + std::exp(-v)); }},
      {x.leaky_relu(), [](double v) { return v > 0 ? v : 0.01 * v; }},
      {x.leaky_relu(0.5), [](double v) { return v > 0 ? v : 0.5 * v; }},
      {x.abs(), [](double v) { return std::abs(v); }},
      {x.exp() / 8, [](double v) { return std::exp(v) / 8; }}};
  for (const auto& [found, map] : maps) expect_near(found, {map(-2), map(-0.5), map(0), map(3)});
  expect(make({3}, {0.25, 1, 9}).sqrt(), {3}, {0.5, 1, 3});
  expect_near(make({2}, {1, 9}).log(), {0, std::log(9.0)});
  EXPECT_EQ(x.cast(Dtype::i32).to_host<std::int32_t>(), (std::vector<std::int32_t>{-2, 0, 0, 3}));
  expect(x.cast(Dtype::bf16).cast(Dtype::f32), {4}, {-2, -0.5, 0, 3});
  expect_error(Status::unsupported, "cannot make i8 of f32", [&] { x.cast(Dtype::i8); });
}

TEST_F(Operations, ChangeInPlace) {
  Tensor w = make({2, 2}, {1, 2, 3, 4});
  w.add_in_place(make({2, 2}, {1, 1, 2, 2}), -0.5);
  expect(w, {2, 2}, {0.5, 1.5, 2, 3});
  w.scale_in_place(2, -1);
  expect(w, {2, 2}, {0, 2, 3, 5});
  ((w += make({2}, {10, 20})) -= make({1}, {1})) += 1;
  expect(w, {2, 2}, {10, 22, 13, 25});
  w -= 1;
  w *= 4;
  w /= 2;
  expect(w, {2, 2}, {18, 42, 24, 48});
  Tensor row = make({2}, {1, 2});
  expect_error(Status::invalid_argument, "the tensor to change is f32[2]", [&] { row += w; });
}

TEST_F(Operations, MultiplyMatrices) {
  const Tensor a = make({2, 3}, {1, 2, 3, 4, 5, 6}), b = make({3, 2}, {1, 0, 0, 1, 1, 1});
  expect(a.matmul(b), {2, 2}, {4, 5, 10, 11});
  expect(a.transpose().matmul(b, true), {2, 2}, {4, 5, 10, 11});
  expect(a.matmul(b.transpose(), false, true), {2, 2}, {4, 5, 10, 11});
  expect_error(Status::invalid_argument, "3 columns by 2 rows", [&] { a.matmul(a); });
}

TEST_F(Operations, ReadImages) {
  const Tensor image = Tensor::arange(context_, "cpu", Dtype::f32, 1, 1, 9).reshape({1, 1, 3, 3});
  const Tensor weight = make({1, 1, 2, 2}, {1, 0, 0, 1}), bias = make({1}, {100});
  expect(image.conv2d(weight), {1, 1, 2, 2}, {6, 8, 12, 14});
  expect(image.conv2d(weight, bias), {1, 1, 2, 2}, {106, 108, 112, 114});
  expect(image.conv2d(weight, {.stride = {2, 2}, .padding = {1, 1}}), {1, 1, 2, 2}, {1, 3, 7, 14});
  expect(image.conv2d(weight, bias, {.dilation = {2, 2}}), {1, 1, 1, 1}, {110});
  expect(image.max_pool2d({.kernel = {2, 2}, .stride = {1, 1}}), {1, 1, 2, 2}, {5, 6, 8, 9});
  expect(image.avg_pool2d({.kernel = {2, 2}, .stride = {1, 1}}), {1, 1, 2, 2}, {3, 4, 6, 7});
  expect_error(Status::invalid_argument, "options.kernel[0] is not set", [&] { image.max_pool2d({}); });
  expect_error(Status::invalid_argument, "weight has shape [1]", [&] { image.conv2d(bias); });
}

TEST_F(Operations, ChangeShapes) {
  Tensor x = make({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor view = x.reshape({3, -1});
  expect(view, {3, 2}, {1, 2, 3, 4, 5, 6});
  expect(x.transpose(), {3, 2}, {1, 4, 2, 5, 3, 6});
  expect(x.transpose({0, 1}), {2, 3}, {1, 2, 3, 4, 5, 6});
  expect(x.slice(-1, 1, 3), {2, 2}, {2, 3, 5, 6});
  expect(Tensor::concat({x, make({2, 1}, {7, 8})}, 1), {2, 4}, {1, 2, 3, 7, 4, 5, 6, 8});
  const std::vector<Tensor> pieces = x.scatter({"cpu:0", "cpu:0"});
  expect(Tensor::concat(pieces), {2, 3}, {1, 2, 3, 4, 5, 6});
  expect(Tensor::concat(std::array<Tensor, 2>{x.slice(0, 1, 2), x.slice(0, 0, 1)}), {2, 3}, {4, 5, 6, 1, 2, 3});
  expect(x.expand({2, 2, 3}), {2, 2, 3}, {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6});
  x *= 0;
  expect(view, {3, 2}, Floats(6));
  expect_error(Status::invalid_argument, "cannot become [4, 2]", [&] { x.reshape({4, 2}); });
  expect_error(Status::invalid_argument, "axis is 2", [&] { x.slice(2, 0, 1); });
  expect_error(Status::invalid_argument, "needs each axis of [2, 3] once", [&] { x.transpose({1, 1}); });
  expect_misuse<std::invalid_argument>("Tensor::transpose: the order has 1 axes, the tensor 2",
                                       [&] { x.transpose({0}); });
  expect_error(Status::invalid_argument, "", [] { Tensor::concat({}); });
}

TEST_F(Operations, ReadAxes) {
  const Tensor x = Tensor::arange(context_, "cpu", Dtype::f32, 1, 1, 8).reshape({2, 2, 2});
  expect(x.sum(), {}, {36});
  expect(x.sum({0, -1}), {2}, {14, 22});
  expect(x.sum({0, -1}, true), {1, 2, 1}, {14, 22});
  expect(x.sum(std::vector<std::int32_t>()), {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  expect(x.mean(), {}, {4.5});
  expect(x.mean({1}), {2, 2}, {2, 3, 6, 7});
  expect(make({2, 1}, {3, -4}).norm(), {}, {5});
  expect_near(make({1, 2}, {0, std::log(3.0f)}).softmax(), {0.25, 0.75});
  EXPECT_EQ(x.argmax(0).to_host<std::int64_t>(), (Longs{1, 1, 1, 1}));
  EXPECT_EQ(make({1, 3}, {1, 3, 2}).argmax().to_host<std::int64_t>(), Longs{1});
  expect_error(Status::invalid_argument, "axes have 1 twice", [&] { x.sum({1, -2}); });
  const Tensor logits = make({2, 3}, {0, 0, 0, 1, 2, 3});
  expect_near(logits.cross_entropy(Tensor(context_, "cpu", {2}, {1, 2})),
              {std::log(3.0), std::log(std::exp(1.0) + std::exp(2.0) + std::exp(3.0)) - 3});
  expect_error(Status::unsupported, "argument 'labels' is f32", [&] { logits.cross_entropy(logits); });
}

TEST_F(Operations, AreSeen) {
  EXPECT_EQ(make({2, 2}, {1, 2.5, -3, 0}).to_text(), "f32[2, 2] on cpu:0\n[[ 1., 2.5],\n [-3.,  0.]]");
  const std::string large = Tensor::full(context_, "cpu", Dtype::f32, {10, 10, 10}, 1).to_text();
  EXPECT_EQ(std::count(large.begin(), large.end(), '.'), 1000);
  Device("cpu:0").synchronize(context_);
  expect_error(Status::device_unavailable, "cuda", [&] { Device("cuda:63").synchronize(context_); });
}

TEST(Objects, OfOperationsEndInAnyOrder) {
  std::optional<Context> context(std::in_place);
  std::optional<Tensor> x(Tensor(*context, "cpu", {2}, {1.0f, 2.0f}));
  Gradients record(*context);
  record.watch(*x);
  const Tensor view = x->reshape({2, 1}), twice = *x * 2, loss = twice.sum();
  const std::vector<Tensor> gradients = record.of(loss, {*x});
  context.reset();
  x.reset();
  EXPECT_EQ((view + twice.reshape({2, 1})).to_host<float>(), (Floats{3, 6}));
  record.close();
  EXPECT_EQ(gradients[0].to_host<float>(), (Floats{2, 2}));
}

TEST(Threads, ComputeTogether) {
  const Context context;
  const Tensor x = Tensor::normal(context, "cpu", Dtype::f32, {16, 16}, 0, 1);
  const Floats expected = x.matmul(x).to_host<float>();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) EXPECT_EQ(x.matmul(x).to_host<float>(), expected);
    });
  for (std::thread& thread : threads) thread.join();
}

class Derivatives : public Operations {};

TEST_F(Derivatives, FollowTheRules) {
  Tensor x = make({1, 2}, {1, 2}), w = make({2, 1}, {3, 4});
  Gradients record(context_);
  record.watch(x, w);
  const Tensor y = x.matmul(w).sum();
  const std::vector<Tensor> gradients = record.of(y * y, {x, w});
  ASSERT_EQ(gradients.size(), 2u);
  expect(gradients[0], {1, 2}, {66, 88});
  expect(gradients[1], {2, 1}, {22, 44});
  std::vector<Tensor> both;
  both.push_back(std::move(w));
  expect(record.of(y, both)[0], {2, 1}, {1, 2});
}

TEST_F(Derivatives, TrainALinearRegression) {
  const Tensor x = Tensor::normal(context_, "cpu", Dtype::f32, {64, 2}, 0, 1, 1);
  const Tensor t = x.matmul(make({2, 1}, {2, -3})) + 0.5;
  Tensor w = Tensor::zeros(context_, "cpu", Dtype::f32, {2, 1}), b = Tensor::zeros(context_, "cpu", Dtype::f32, {1});
  float before = INFINITY;
  for (int step = 0; step < 100; ++step) {
    Gradients record(context_);
    record.watch(w, b);
    const Tensor error = x.matmul(w) + b - t;
    const Tensor loss = (error * error).mean();
    const std::vector<Tensor> gradients = record.of(loss, {w, b});
    record.close();
    w.add_in_place(gradients[0], -0.1);
    b -= 0.1 * gradients[1];
    const float now = loss.to_host<float>()[0];
    EXPECT_LT(now, before);
    before = now;
  }
  EXPECT_LT(before, 1e-6f);
  const Floats found = w.to_host<float>();
  EXPECT_NEAR(found[0], 2, 1e-3);
  EXPECT_NEAR(found[1], -3, 1e-3);
  EXPECT_NEAR(b.to_host<float>()[0], 0.5, 1e-3);
}

TEST_F(Derivatives, RefuseWhatWasNotRecorded) {
  Tensor x = make({2}, {3, 3}), other = make({1}, {1}), integers = other.cast(Dtype::i32);
  Gradients record(context_), second(context_);
  record.watch(x);
  const Tensor loss = x.norm();
  expect_error(Status::invalid_argument, "belongs to another gradients object", [&] { second.watch(x); });
  expect_error(Status::invalid_argument, "is i32, need f32, bf16 or f16", [&] { record.watch(integers); });
  expect_error(Status::invalid_argument, "'tensors[1]' is not recorded", [&] { record.of(loss, {x, other}); });
  expect_error(Status::invalid_argument, "'number' is not recorded", [&] { second.of(loss, {x}); });
  expect_error(Status::invalid_argument, "the tensor has shape [2], need one number", [&] { record.of(x, {x}); });
  expect_error(Status::invalid_argument, "is recorded for gradients", [&] { x *= 2; });
  record.close();
  x *= 2;
  expect(x, {2}, {6, 6});
  expect_misuse<std::logic_error>("Gradients: it is closed, need an open one", [&] { record.watch(x); });
  expect_misuse<std::logic_error>("Gradients: it is closed, need an open one", [&] { Gradients().of(x, {x}); });
}

}  // namespace
