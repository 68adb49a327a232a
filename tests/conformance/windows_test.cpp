// Tests conv2d and its gradients as products with windows, on any machine whose oneDNN multiplies
// bf16, also if the device would choose other kernels.
#include "backends/cpu/windows_conv2d.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "conformance/one_node.h"
#include "core/float16.h"
#include "ops/op_def.h"
#include "ops/window.h"

namespace troika {
namespace {

struct WindowsCase {
  Shape x;
  int64_t channels;  // of y
  std::array<int64_t, 2> kernel, stride = {1, 1}, padding = {0, 0}, dilation = {1, 1};

  int64_t size(int axis) const {
    return (x[2 + axis] + 2 * padding[axis] - dilation[axis] * (kernel[axis] - 1) - 1) / stride[axis] + 1;
  }
  Shape y() const { return {x[0], channels, size(0), size(1)}; }
  Shape weight() const { return {channels, x[1], kernel[0], kernel[1]}; }
  Attributes attributes() const {
    const auto list = [](const std::array<int64_t, 2>& pair) { return std::vector<int64_t>(pair.begin(), pair.end()); };
    return {{"kernel", list(kernel)},     {"stride", list(stride)},  {"padding", list(padding)},
            {"dilation", list(dilation)}, {"groups", int64_t{1}},    {"relu", int64_t{0}},
            {"bias", int64_t{0}},         {"input_shape", x.dims()}, {"weight_shape", weight().dims()}};
  }
};

void PrintTo(const WindowsCase& c, std::ostream* out) {
  *out << c.x << " to " << c.channels << " by " << c.kernel[0] << "x" << c.kernel[1] << ", stride " << c.stride[0]
       << "x" << c.stride[1] << ", padding " << c.padding[0] << "x" << c.padding[1] << ", dilation " << c.dilation[0]
       << "x" << c.dilation[1];
}

Array random_bf16(const Shape& shape, Random& random) {
  Array array(shape);
  for (double& v : array.data) v = float_of_bf16(bf16_of_float(static_cast<float>(random.normal())));
  return array;
}

// A sum of products per element, and of their absolute values.
struct Sums {
  Array sums, sizes;
  explicit Sums(const Shape& shape) : sums(shape), sizes(shape) {}
  void add(int64_t a, int64_t b, int64_t c, int64_t d, double term) {
    sums.at(a, b, c, d) += term;
    sizes.at(a, b, c, d) += std::abs(term);
  }
};

// Calls visit for each product of a convolution. Arguments are the sample; channel, row and column
// of y, then of x; row and column of the kernel.
template <typename Visit>
void for_each_product(const WindowsCase& c, Visit visit) {
  const Shape y = c.y();
  for (int64_t n = 0; n < y[0]; ++n)
    for (int64_t h = 0; h < y[2]; ++h)
      for (int64_t w = 0; w < y[3]; ++w)
        for (int64_t i = 0; i < c.kernel[0]; ++i)
          for (int64_t j = 0; j < c.kernel[1]; ++j) {
            const int64_t x_h = h * c.stride[0] - c.padding[0] + i * c.dilation[0],
                          x_w = w * c.stride[1] - c.padding[1] + j * c.dilation[1];
            if (x_h < 0 || x_h >= c.x[2] || x_w < 0 || x_w >= c.x[3]) continue;
            for (int64_t k = 0; k < y[1]; ++k)
              for (int64_t channel = 0; channel < c.x[1]; ++channel) visit(n, k, h, w, channel, x_h, x_w, i, j);
          }
}

using Select = KernelChoice (*)(const cpu::CpuDevice&, const KernelRequest&);

class Windows : public testing::TestWithParam<WindowsCase> {
 protected:
  void SetUp() override {
    if (!is_on_cpu()) GTEST_SKIP() << "these are kernels of the CPU, tested is " << test_device();
  }

  // A value of the node, with its numbers.
  struct Input {
    TensorType type;
    const Array* array;  // or none
  };

  struct Output {
    TensorType type;
    const Sums* expected;
  };

  // Compares the results of a kernel with sums: f32 adds up in another order, and results in bf16
  // are rounded.
  void expect_sums(Select select, const OpDef& op, Attributes attributes, const std::vector<Input>& inputs,
                   const std::vector<Output>& outputs) {
    Graph graph;
    Node node;
    node.op = &op;
    node.name = "conv";
    node.attributes = std::move(attributes);
    for (const Input& input : inputs) node.inputs.push_back(input.array ? graph.add_value("", input.type) : kNoValue);
    for (const Output& output : outputs) node.outputs.push_back(graph.add_value("", output.type));
    graph.add_node(node);
    std::string missing;
    runner_.run([&] {
      try {
        std::vector<Held> held;
        for (const Input& input : inputs)
          held.push_back(input.array ? runner_.hold(input.type, *input.array, nullptr) : Held());
        KernelChoice choice =
            select(dynamic_cast<const cpu::CpuDevice&>(runner_.device()), {graph, graph.nodes()[0], {}});
        const NodeRunner::Result run = runner_.run_node(graph, graph.nodes()[0], held, std::move(choice));
        for (size_t k = 0; k < outputs.size(); ++k) {
          const Array found = runner_.read(run.outputs[k]);
          const Sums& e = *outputs[k].expected;
          const double rounding = outputs[k].type.dtype == DType::bf16 ? 0x1p-8 : 0;
          for (int64_t i = 0; i < found.elements(); ++i)
            ASSERT_NEAR(found[i], e.sums[i], 1e-5 * e.sizes[i] + rounding * std::abs(e.sums[i]))
                << "output " << k << ", element " << i;
        }
      } catch (const dnnl::error& e) {
        if (e.status != dnnl_unimplemented) throw;
        missing = e.what();
      }
    });
    if (!missing.empty()) GTEST_SKIP() << "oneDNN multiplies no bf16 here: " << missing;
  }

  static TensorType bf16(const Shape& shape) { return {DType::bf16, shape}; }

  NodeRunner runner_{3};
  Random random_;
};

TEST_P(Windows, HaveTheConvolutionOfPlainLoops) {
  const WindowsCase& c = GetParam();
  Array x = random_bf16(c.x, random_), weight = random_bf16(c.weight(), random_), bias({c.channels});
  for (double& v : bias.data) v = static_cast<float>(random_.normal());
  for (const bool relu : {false, true}) {
    Sums y(c.y());
    for_each_product(
        c, [&](int64_t n, int64_t k, int64_t h, int64_t w, int64_t channel, int64_t x_h, int64_t x_w, int64_t i,
               int64_t j) { y.add(n, k, h, w, x.at(n, channel, x_h, x_w) * weight.at(k, channel, i, j)); });
    Attributes attributes = c.attributes();
    attributes.set("relu", int64_t{relu});
    if (relu)
      for (int64_t i = 0; i < y.sums.elements(); ++i)
        y.sums[i] = std::max(0.0, y.sums[i] + bias[i / (c.size(0) * c.size(1)) % c.channels]);
    expect_sums(cpu::windows_conv2d, conv2d_op, attributes,
                {{bf16(c.x), &x}, {bf16(c.weight()), &weight}, {{DType::f32, {c.channels}}, relu ? &bias : nullptr}},
                {{bf16(c.y()), &y}});
  }
}

TEST_P(Windows, HaveTheInputGradientOfPlainLoops) {
  const WindowsCase& c = GetParam();
  Array dy = random_bf16(c.y(), random_), weight = random_bf16(c.weight(), random_);
  Sums dx(c.x);
  for_each_product(c,
                   [&](int64_t n, int64_t k, int64_t h, int64_t w, int64_t channel, int64_t x_h, int64_t x_w, int64_t i,
                       int64_t j) { dx.add(n, channel, x_h, x_w, dy.at(n, k, h, w) * weight.at(k, channel, i, j)); });
  expect_sums(cpu::windows_conv2d_input_gradient, conv2d_input_gradient_op, c.attributes(),
              {{bf16(c.weight()), &weight}, {bf16(c.y()), &dy}}, {{bf16(c.x), &dx}});
}

TEST_P(Windows, HaveTheWeightGradientOfPlainLoops) {
  const WindowsCase& c = GetParam();
  Array x = random_bf16(c.x, random_), dy = random_bf16(c.y(), random_);
  Sums dweight(c.weight()), dbias({1, c.channels, 1, 1});
  for_each_product(c,
                   [&](int64_t n, int64_t k, int64_t h, int64_t w, int64_t channel, int64_t x_h, int64_t x_w, int64_t i,
                       int64_t j) { dweight.add(k, channel, i, j, dy.at(n, k, h, w) * x.at(n, channel, x_h, x_w)); });
  for (int64_t i = 0; i < dy.elements(); ++i) dbias.add(0, i / (c.size(0) * c.size(1)) % c.channels, 0, 0, dy[i]);
  const std::vector<Input> inputs = {{bf16(c.x), &x}, {bf16(c.y()), &dy}};
  std::vector<Output> outputs = {{{DType::f32, c.weight()}, &dweight}};
  Attributes attributes = c.attributes();
  expect_sums(cpu::windows_conv2d_weight_gradient, conv2d_weight_gradient_op, attributes, inputs, outputs);
  outputs.push_back({{DType::f32, {c.channels}}, &dbias});
  attributes.set("bias", int64_t{1});
  expect_sums(cpu::windows_conv2d_weight_gradient, conv2d_weight_gradient_op, attributes, inputs, outputs);
}

// Padding, stride, dilation, windows that are the image or its pixels, pixels that no window reads,
// and several pieces of the samples.
INSTANTIATE_TEST_SUITE_P(Sizes, Windows,
                         testing::Values(WindowsCase{{3, 64, 7, 7}, 80, {3, 3}, {1, 1}, {1, 1}},
                                         WindowsCase{{2, 65, 9, 6}, 70, {3, 2}, {2, 1}, {1, 0}, {1, 2}},
                                         WindowsCase{{2, 48, 11, 10}, 32, {3, 3}, {2, 2}, {1, 1}, {2, 1}},
                                         WindowsCase{{4, 64, 8, 7}, 96, {1, 1}, {2, 2}},
                                         WindowsCase{{3, 40, 5, 7}, 24, {1, 1}},
                                         WindowsCase{{2, 17, 5, 4}, 24, {1, 1}, {1, 1}, {1, 0}},
                                         WindowsCase{{2, 33, 6, 4}, 16, {1, 1}, {2, 1}},
                                         WindowsCase{{5, 33, 4, 3}, 17, {4, 3}},
                                         WindowsCase{{2, 32, 12, 13}, 16, {2, 3}, {4, 5}, {0, 1}},
                                         WindowsCase{{2, 32, 5, 4}, 16, {2, 2}, {2, 2}},
                                         WindowsCase{{1, 16, 5, 5}, 16, {5, 5}, {2, 2}, {2, 2}},
                                         WindowsCase{{43, 512, 8, 8}, 3, {3, 3}, {1, 1}, {1, 1}},
                                         WindowsCase{{2, 3, 20, 19}, 40, {7, 7}, {2, 2}, {3, 3}},
                                         WindowsCase{{41, 3, 9, 16}, 512, {3, 3}, {1, 2}, {1, 1}}));

struct Choice {
  bool forward, input_gradient, weight_gradient;
  bool operator==(const Choice&) const = default;
};

// A node of the convolution, without names.
struct ChoiceNode {
  Graph graph;
  Node node;
  ChoiceNode(const OpDef& op, Attributes attributes, const std::vector<TensorType>& inputs,
             const std::vector<TensorType>& outputs) {
    node.op = &op;
    node.attributes = std::move(attributes);
    for (const TensorType& type : inputs) node.inputs.push_back(graph.add_value("", type));
    for (const TensorType& type : outputs) node.outputs.push_back(graph.add_value("", type));
  }
  bool takes_windows(bool has_amx = true) const { return cpu::takes_windows({graph, node, {}}, has_amx); }
};

Choice choice(const WindowsCase& c, bool has_amx = true, DType dtype = DType::bf16, int64_t groups = 1) {
  Attributes attributes = c.attributes();
  attributes.set("groups", groups);
  const TensorType x{dtype, c.x}, weight{dtype, c.weight()}, y{dtype, c.y()}, dweight{DType::f32, c.weight()};
  return {ChoiceNode(conv2d_op, attributes, {x, weight}, {y}).takes_windows(has_amx),
          ChoiceNode(conv2d_input_gradient_op, attributes, {weight, y}, {x}).takes_windows(has_amx),
          ChoiceNode(conv2d_weight_gradient_op, attributes, {x, y}, {dweight}).takes_windows(has_amx)};
}

WindowsCase same(int64_t channels, int64_t size, int64_t batch = 8) {
  return {{batch, channels, size, size}, channels, {3, 3}, {1, 1}, {1, 1}};
}
// A convolution to `size` pixels, half of those before.
WindowsCase halving(int64_t channels, int64_t kernel, int64_t size) {
  return {{8, channels, 2 * size, 2 * size}, 128, {kernel, kernel}, {2, 2}, {kernel / 2, kernel / 2}};
}

constexpr Choice kNone{false, false, false}, kWeights{false, false, true}, kGradients{false, true, true},
    kAll{true, true, true};

TEST(WindowsChoice, IsForSmallImages) {
  EXPECT_EQ(choice(same(128, 4)), kAll);
  EXPECT_EQ(choice(same(128, 5)), kWeights);
  EXPECT_EQ(choice(same(128, 16)), kWeights);
  EXPECT_EQ(choice(same(128, 17)), kNone);
  EXPECT_EQ(choice(same(64, 8)), kWeights);
  EXPECT_EQ(choice(same(64, 9)), kNone);
  EXPECT_EQ(choice(halving(64, 3, 4)), kAll);
  EXPECT_EQ(choice(halving(64, 3, 8)), kGradients);
  EXPECT_EQ(choice(halving(64, 3, 9)), kWeights);
  EXPECT_EQ(choice(halving(64, 3, 17)), kNone);
  EXPECT_EQ(choice(halving(64, 1, 8)), kGradients);
  EXPECT_EQ(choice({{8, 128, 4, 4}, 128, {1, 1}}), kGradients);
  EXPECT_EQ(choice({{8, 128, 8, 8}, 128, {1, 1}}), kGradients);
  EXPECT_EQ(choice({{8, 128, 9, 9}, 128, {1, 1}}), kWeights);
  EXPECT_EQ(choice({{8, 128, 4, 4}, 128, {1, 1}, {1, 1}, {0, 1}}), kWeights);
}

TEST(WindowsChoice, IsForManyPixelsAndChannels) {
  EXPECT_EQ(choice(same(128, 4, 7)), kNone);
  EXPECT_EQ(choice(same(63, 4)), kWeights);
  EXPECT_EQ(choice(halving(63, 3, 4)), kWeights);
  EXPECT_EQ(choice(same(16, 4)), kWeights);
  EXPECT_EQ(choice(same(15, 4)), kNone);
  EXPECT_EQ(choice(halving(15, 3, 4)), kNone);
}

TEST(WindowsChoice, IsForImagesOfFewChannelsWithLongWindows) {
  const auto stem = [](int64_t channels, int64_t outputs, int64_t kernel) {
    return WindowsCase{{2, channels, 64, 64}, outputs, {kernel, kernel}, {2, 2}, {3, 3}};
  };
  const Choice both{true, false, true};
  EXPECT_EQ(choice(stem(3, 64, 7)), both);
  EXPECT_EQ(choice(stem(4, 32, 7)), both);
  EXPECT_EQ(choice(stem(3, 31, 7)), kNone);
  EXPECT_EQ(choice(stem(2, 64, 7)), kNone);
  EXPECT_EQ(choice(stem(5, 64, 7)), kNone);
  EXPECT_EQ(choice(stem(3, 64, 7), false), kNone);
}

TEST(WindowsChoice, IsForBf16WithAmx) {
  const WindowsCase c = same(128, 4);
  EXPECT_EQ(choice(c, false), kNone);
  EXPECT_EQ(choice(c, true, DType::f32), kNone);
  EXPECT_EQ(choice(c, true, DType::f16), kNone);
  EXPECT_EQ(choice(c, true, DType::bf16, 2), kNone);
}

TEST(WindowsChoice, IsForWeightGradientsInF32) {
  const WindowsCase c = same(128, 4);
  const TensorType x{DType::bf16, c.x}, y{DType::bf16, c.y()};
  const auto takes = [&](DType dtype) {
    return ChoiceNode(conv2d_weight_gradient_op, c.attributes(), {x, y}, {{dtype, c.weight()}}).takes_windows();
  };
  EXPECT_TRUE(takes(DType::f32));
  EXPECT_FALSE(takes(DType::bf16));
}

// y of conv_transpose2d is dx, and x is dy.
TEST(WindowsChoice, IsForTransposedConvolutions) {
  const auto takes = [](const WindowsCase& c) {
    return ChoiceNode(conv_transpose2d_op, c.attributes(), {{DType::bf16, c.weight()}, {DType::bf16, c.y()}},
                      {{DType::bf16, c.x}})
        .takes_windows();
  };
  EXPECT_TRUE(takes(halving(64, 3, 8)));
  EXPECT_FALSE(takes(halving(64, 3, 9)));
}

// With AMX, and only then, the device takes these kernels for a small image.
TEST(WindowsChoice, IsTheDevices) {
  if (!is_on_cpu()) GTEST_SKIP() << "these are kernels of the CPU, tested is " << test_device();
  NodeRunner runner(2);
  const auto kernel = [&](const ChoiceNode& n) { return runner.device().select({n.graph, n.node, {}}).name; };
  const auto forward = [&](const WindowsCase& c) {
    return kernel({conv2d_op,
                   c.attributes(),
                   {{DType::bf16, c.x}, {DType::bf16, c.weight()}, {DType::f32, {c.channels}}},
                   {{DType::bf16, c.y()}}});
  };
  const auto input_gradient = [&](const WindowsCase& c) {
    return kernel({conv2d_input_gradient_op,
                   c.attributes(),
                   {{DType::bf16, c.weight()}, {DType::bf16, c.y()}},
                   {{DType::bf16, c.x}}});
  };
  const auto weight_gradient = [&](const WindowsCase& c) {
    return kernel({conv2d_weight_gradient_op,
                   c.attributes(),
                   {{DType::bf16, c.x}, {DType::bf16, c.y()}},
                   {{DType::f32, c.weight()}}});
  };
  runner.run([&] {
    const WindowsCase small = same(128, 4, 64), large = same(128, 28, 64);
    const auto expect_windows = [](const std::string& of_small, const std::string& of_large) {
      EXPECT_FALSE(of_large.starts_with("cpu:windows")) << of_large;
      EXPECT_EQ(of_small == "cpu:windows:matmul", cpu::has_amx()) << of_small;
    };
    expect_windows(forward(small), forward(large));
    expect_windows(input_gradient(small), input_gradient(large));
    expect_windows(weight_gradient(small), weight_gradient(large));
  });
}

}  // namespace
}  // namespace troika
