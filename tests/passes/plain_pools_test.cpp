// Tests of plain_pools: pooled images that linear layers read as they are stored.
#include "passes/graph_text.h"
#include "passes/passes.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

// A convolution that pools, its gradients, and a linear layer after it with its gradients. `plain`
// is what the pass adds, `more` are nodes at the end.
struct Text {
  std::string plain = "", dy = "%10", more = "", outputs = "%8, %9, %11, %12";

  std::string graph() const {
    const std::string window = "dilation=[1, 1], groups=1, ", kernel = "kernel=[3, 3], padding=[1, 1], ",
                      pool = plain + "pool=1, relu=";
    return R"(
graph "net" {
  %0 : f32[2, 3, 4, 6] samples "x"
  %1 : f32[5, 3, 3, 3] parameter "conv.weight"
  %2 : f32[7, 30] parameter "fc.weight"
  %3 : f32[2, 7] input "dy"
  %4 : f32[2, 5, 2, 3] input "other"
  (%5 : f32[2, 5, 2, 3], %6 : u8[2, 5, 2, 3]) = conv2d(%0, %1, _) "conv" {)" +
           window + kernel + pool + R"(1, stride=[1, 1]}
  (%8 : f32[2, 7]) = linear(%5, %2, _) "fc" {per_position=0, relu=0}
  (%9 : f32[7, 30]) = linear_weight_gradient(%5, %3) "fc" {bias=0, per_position=0, weight_shape=[7, 30]}
  (%10 : f32[2, 5, 2, 3]) = linear_input_gradient(%2, %3) "fc" {input_shape=[2, 5, 2, 3], per_position=0}
  (%11 : f32[5, 3, 3, 3]) = conv2d_weight_gradient(%0, )" +
           dy + R"(, %6) "conv" {bias=0, )" + window + kernel + pool + R"(0, stride=[1, 1], weight_shape=[5, 3, 3, 3]}
  (%12 : f32[2, 3, 4, 6]) = conv2d_input_gradient(%1, )" +
           dy + R"(, %6) "conv" {)" + window + "input_shape=[2, 3, 4, 6], " + kernel + pool + "0, stride=[1, 1]}\n" +
           more + "  return " + outputs + "\n}\n";
  }
};

Graph passed(const Text& text) {
  Graph graph = parse_graph(text.graph());
  plain_pools(graph);
  verify(graph);
  return graph;
}

TEST(PlainPools, AreThoseBetweenAConvolutionAndALinearLayer) {
  EXPECT_GRAPH(passed(Text{}), Text{.plain = "plain_pool=1, "}.graph());
}

TEST(PlainPools, AreThoseBetweenAConvolutionAndTheLastLayer) {
  const auto text = [](const std::string& plain) {
    const std::string window = "dilation=[1, 1], groups=1, kernel=[3, 3], padding=[1, 1], " + plain + "pool=1, relu=";
    return R"(
graph "net" {
  %0 : f32[2, 3, 4, 6] samples "x"
  %1 : f32[5, 3, 3, 3] parameter "conv.weight"
  %2 : f32[7, 30] parameter "fc.weight"
  %3 : i32[2] targets "labels"
  (%5 : f32[2, 5, 2, 3], %6 : u8[2, 5, 2, 3]) = conv2d(%0, %1, _) "conv" {)" +
           window + R"(1, stride=[1, 1]}
  (%7 : f64[1], %8 : i64[1], %9 : f32[2, 7], %10 : f32[2, 5, 2, 3]) = linear_cross_entropy(%5, %2, _, %3) "loss" {input_relu=0, scale=0.5}
  (%11 : f32[5, 3, 3, 3]) = conv2d_weight_gradient(%0, %10, %6) "conv" {bias=0, )" +
           window + R"(0, stride=[1, 1], weight_shape=[5, 3, 3, 3]}
  return %7, %8, %9, %11
}
)";
  };
  Graph graph = parse_graph(text(""));
  plain_pools(graph);
  EXPECT_GRAPH(graph, text("plain_pool=1, "));
}

TEST(PlainPools, AreNotReadByOtherLayers) {
  const Text text{.more = "  (%13 : f32[2, 5, 2, 3]) = gelu(%5) \"reader\"\n", .outputs = "%8, %9, %11, %12, %13"};
  EXPECT_GRAPH(passed(text), text.graph());
}

TEST(PlainPools, HaveAGradientOfALinearLayer) {
  const Text text{.dy = "%4", .outputs = "%8, %9, %10, %11, %12"};
  EXPECT_GRAPH(passed(text), text.graph());
}

}  // namespace
}  // namespace troika
