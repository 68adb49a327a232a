// Tests of fuse_relus: gradients of poolings that apply that of the ReLU before them.
#include "passes/graph_text.h"
#include "passes/passes.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

std::string backward(const std::string& nodes) {
  return R"(
graph "net" {
  %0 : f32[2, 3, 4, 4] input "relu"
  %1 : f32[2, 3, 2, 2] input "dy"
  %2 : i32[2, 3, 2, 2] input "places"
)" + nodes +
         "})";
}

Graph fused(const std::string& nodes) {
  Graph graph = parse_graph(backward(nodes));
  fuse_relus(graph);
  verify(graph);
  return graph;
}

// The attributes of a pooling's gradient.
const std::string kAverage =
    " \"pool\" {count_include_pad=1, input_shape=[2, 3, 4, 4], kernel=[2, 2], padding=[0, 0], stride=[2, 2]}\n";
const std::string kMax = " \"pool\" {input_shape=[2, 3, 4, 4], kernel=[2, 2], padding=[0, 0], stride=[2, 2]}\n";

TEST(FuseRelus, GivesAnAverageTheReluAsItsLastInput) {
  EXPECT_GRAPH(fused("  (%3 : f32[2, 3, 4, 4]) = avg_pool2d_gradient(%1)" + kAverage +
                     "  (%4 : f32[2, 3, 4, 4]) = relu_gradient(%0, %3) \"relu\"\n  return %4\n"),
               backward("  (%4 : f32[2, 3, 4, 4]) = avg_pool2d_gradient(%1, %0)" + kAverage + "  return %4\n"));
}

TEST(FuseRelus, GivesAMaximumTheReluAsItsLastInput) {
  EXPECT_GRAPH(fused("  (%3 : f32[2, 3, 4, 4]) = max_pool2d_gradient(%2, %1)" + kMax +
                     "  (%4 : f32[2, 3, 4, 4]) = relu_gradient(%0, %3) \"relu\"\n  return %4\n"),
               backward("  (%4 : f32[2, 3, 4, 4]) = max_pool2d_gradient(%2, %1, %0)" + kMax + "  return %4\n"));
}

TEST(FuseRelus, GivesAnAdaptiveAverageTheReluAsItsLastInput) {
  const std::string adaptive = " \"pool\" {input_shape=[2, 3, 4, 4]}\n";
  EXPECT_GRAPH(
      fused("  (%3 : f32[2, 3, 4, 4]) = adaptive_avg_pool2d_gradient(%1)" + adaptive +
            "  (%4 : f32[2, 3, 4, 4]) = relu_gradient(%0, %3) \"relu\"\n  return %4\n"),
      backward("  (%4 : f32[2, 3, 4, 4]) = adaptive_avg_pool2d_gradient(%1, %0)" + adaptive + "  return %4\n"));
}

// If the ReLU's output is computed again, it may be made after the pooling's gradient.
TEST(FuseRelus, WaitForALaterRelu) {
  EXPECT_GRAPH(fused("  (%3 : f32[2, 3, 4, 4]) = avg_pool2d_gradient(%1)" + kAverage +
                     "  (%5 : f32[2, 3, 4, 4]) = relu(%0) \"relu\"\n" +
                     "  (%4 : f32[2, 3, 4, 4]) = relu_gradient(%5, %3) \"relu\"\n  return %4\n"),
               backward("  (%5 : f32[2, 3, 4, 4]) = relu(%0) \"relu\"\n"
                        "  (%4 : f32[2, 3, 4, 4]) = avg_pool2d_gradient(%1, %5)" +
                        kAverage + "  return %4\n"));
}

TEST(FuseRelus, LeaveAGradientThatIsReadTwice) {
  const std::string nodes = "  (%3 : f32[2, 3, 4, 4]) = avg_pool2d_gradient(%1)" + kAverage +
                            "  (%4 : f32[2, 3, 4, 4]) = relu_gradient(%0, %3) \"relu\"\n  return %4, %3\n";
  EXPECT_GRAPH(fused(nodes), backward(nodes));
}

TEST(FuseRelus, LeaveTheGradientOfAnotherOp) {
  const std::string nodes =
      "  (%3 : f32[2, 3, 4, 4]) = gelu(%0) \"gelu\"\n"
      "  (%4 : f32[2, 3, 4, 4]) = relu_gradient(%0, %3) \"relu\"\n  return %4\n";
  EXPECT_GRAPH(fused(nodes), backward(nodes));
}

}  // namespace
}  // namespace troika
