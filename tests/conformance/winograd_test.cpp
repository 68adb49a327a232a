// Tests the library's own Winograd kernels for the CPU, on any machine and for any size, also if
// the device would choose another kernel.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/winograd_conv2d.h"
#include "conformance/cases.h"
#include "conformance/node_runner.h"
#include "core/text.h"
#include "support/test_device.h"

namespace troika {
namespace {

using Pair = std::vector<int64_t>;

Case case_of(const Shape& x, int64_t out, const Pair& padding, bool bias, bool relu) {
  const auto f32 = [](const Shape& shape) { return TensorType{DType::f32, shape}; };
  return {"conv2d",
          {f32(x), f32({out, x[1], 3, 3}), bias ? std::optional(f32({out})) : std::nullopt},
          {{"kernel", Pair{3, 3}},
           {"stride", Pair{1, 1}},
           {"padding", padding},
           {"dilation", Pair{1, 1}},
           {"groups", int64_t{1}},
           {"relu", int64_t{relu}}}};
}

KernelChoice choose(const Graph& graph, const Node& node, int64_t block) {
  const KernelRequest request{graph, node, {}};
  return node.op == &conv2d_op                  ? cpu::winograd_conv2d(request, block)
         : node.op == &conv2d_input_gradient_op ? cpu::winograd_conv2d_input_gradient(request, block)
                                                : cpu::winograd_conv2d_weight_gradient(request, block);
}

std::vector<Array> run(NodeRunner& runner, const Graph& graph, const Node& node, const Values& values, int64_t block) {
  std::vector<Held> inputs;
  for (ValueId id : node.inputs)
    inputs.push_back(id == kNoValue ? Held{} : runner.hold(graph.type(id), values[id], nullptr));
  std::vector<Array> outputs;
  for (const Held& held : runner.run_node(graph, node, inputs, choose(graph, node, block)).outputs)
    outputs.push_back(runner.read(held));
  return outputs;
}

class Winograd : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!is_on_cpu()) GTEST_SKIP() << "these are kernels of the CPU, tested is " << test_device();
  }
};

TEST_F(Winograd, EqualsTheReferenceInBlocksOf8And16ByAnyTeam) {
  NodeRunner one(1), three(3);
  for (const Case& c :
       {case_of({1, 16, 1, 1}, 16, {1, 1}, true, false), case_of({2, 16, 4, 3}, 32, {2, 2}, true, true),
        case_of({1, 48, 3, 9}, 16, {0, 1}, false, true), case_of({3, 80, 5, 4}, 16, {1, 1}, true, false),
        case_of({9, 16, 9, 11}, 48, {1, 1}, true, true), case_of({5, 32, 17, 14}, 16, {2, 0}, false, false),
        case_of({3, 16, 53, 54}, 16, {1, 1}, true, false)}) {
    const CaseGraph g = build(c);
    Random random;
    Values values = draw(c, g, random);
    evaluate_reference(g.graph, values);
    for (const Node& node : g.graph.nodes()) {
      if (node.op->name.rfind("conv2d", 0) != 0) continue;
      for (int64_t block : {8, 16}) {
        std::vector<Array> found, again;
        one.run([&] { found = run(one, g.graph, node, values, block); });
        three.run([&] { again = run(three, g.graph, node, values, block); });
        for (size_t i = 0; i < found.size(); ++i) {
          const Array& expected = values[node.outputs[i]];
          double most = 0, difference = 0;
          for (int64_t k = 0; k < expected.elements(); ++k) {
            most = std::max(most, std::abs(expected[k]));
            difference = std::max(difference, std::abs(expected[k] - found[i][k]));
          }
          EXPECT_LE(difference, 1e-5 * most)
              << node.op << " of " << name_of(c) << ", block " << block << ": output " << i;
          EXPECT_EQ(found[i].data, again[i].data) << node.op << " of " << name_of(c) << ": a team of three differs";
        }
      }
    }
  }
}

TEST_F(Winograd, LetsNaNThroughToItsOwnSampleAlone) {
  NodeRunner runner(1);
  const Case c = case_of({2, 16, 10, 9}, 16, {1, 1}, true, true);
  const CaseGraph g = build(c);
  const Node& node = g.graph.nodes().front();
  Random random;
  Values values = draw(c, g, random);
  values[node.inputs[0]].at(0, 5, 4, 7) = std::numeric_limits<double>::quiet_NaN();
  runner.run([&] {
    Array y = run(runner, g.graph, node, values, 8).front();
    for (int64_t k = 0; k < 16; ++k)
      for (int64_t h = 0; h < 10; ++h)
        for (int64_t w = 0; w < 9; ++w) {
          const bool is_covered = std::abs(h - 4) <= 1 && std::abs(w - 7) <= 1;
          EXPECT_TRUE(!is_covered || std::isnan(y.at(0, k, h, w))) << k << ", " << h << ", " << w;
          EXPECT_FALSE(std::isnan(y.at(1, k, h, w))) << k << ", " << h << ", " << w;
        }
  });
}

}  // namespace
}  // namespace troika
