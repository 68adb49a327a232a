// Tests of zero_biases: the gradients that are known to be 0.
#include "passes/graph_text.h"
#include "passes/passes.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

// Two convolutions get their dy from batch_norm2d_gradient. The third gets its dy from another
// node, and the fourth has no bias.
TEST(ZeroBiases, MakesThoseInFrontOfBatchNormOneNode) {
  Graph graph = parse_graph(R"(
graph "net" {
  %0 : f32[2, 3, 4, 4] samples "x"
  %1 : f32[3] parameter "bn.weight"
  %2 : f32[3] input "mean"
  %3 : f32[3] input "inv_std"
  %4 : f32[2, 3, 4, 4] input "dy"
  (%5 : f32[2, 3, 4, 4], %6 : f32[3], %7 : f32[3]) = batch_norm2d_gradient(%0, %1, %2, %3, _, %4) "bn" {relu=0, residual=0}
  (%8 : f32[3, 3, 1, 1], %9 : f32[3] gradient "a.bias") = conv2d_weight_gradient(%0, %5) "a" {bias=1, weight_shape=[3, 3, 1, 1]}
  (%10 : f32[3, 3, 1, 1], %11 : f32[3] gradient "b.bias") = conv2d_weight_gradient(%0, %5) "b" {bias=1, weight_shape=[3, 3, 1, 1]}
  (%12 : f32[3, 3, 1, 1], %13 : f32[3] gradient "c.bias") = conv2d_weight_gradient(%0, %4) "c" {bias=1, weight_shape=[3, 3, 1, 1]}
  (%14 : f32[3, 3, 1, 1]) = conv2d_weight_gradient(%0, %5) "d" {bias=0, weight_shape=[3, 3, 1, 1]}
  return %6, %7, %8, %10, %12, %14
})");
  zero_biases(graph);
  verify(graph);
  EXPECT_GRAPH(graph, R"(
graph "net" {
  %0 : f32[2, 3, 4, 4] samples "x"
  %1 : f32[3] parameter "bn.weight"
  %2 : f32[3] input "mean"
  %3 : f32[3] input "inv_std"
  %4 : f32[2, 3, 4, 4] input "dy"
  (%5 : f32[2, 3, 4, 4], %6 : f32[3], %7 : f32[3]) = batch_norm2d_gradient(%0, %1, %2, %3, _, %4) "bn" {relu=0, residual=0}
  (%8 : f32[3, 3, 1, 1]) = conv2d_weight_gradient(%0, %5) "a" {bias=0, weight_shape=[3, 3, 1, 1]}
  (%10 : f32[3, 3, 1, 1]) = conv2d_weight_gradient(%0, %5) "b" {bias=0, weight_shape=[3, 3, 1, 1]}
  (%12 : f32[3, 3, 1, 1], %13 : f32[3] gradient "c.bias") = conv2d_weight_gradient(%0, %4) "c" {bias=1, weight_shape=[3, 3, 1, 1]}
  (%14 : f32[3, 3, 1, 1]) = conv2d_weight_gradient(%0, %5) "d" {bias=0, weight_shape=[3, 3, 1, 1]}
  (%9 : f32[3] gradient "a.bias", %11 : f32[3] gradient "b.bias") = fill_all() "biases" {sizes=[3, 3], value=0.0}
  return %6, %7, %8, %10, %12, %14
})");
}

// The gradients of an earlier step stay until the backward pass.
TEST(ZeroBiases, AreZeroedAfterAPause) {
  Graph graph = parse_graph(R"(
graph "net" {
  %0 : f32[2, 3, 4, 4] samples "x"
  %1 : f32[3] parameter "bn.weight"
  %2 : f32[3] input "mean"
  %3 : f32[3] input "inv_std"
  %4 : f32[2, 3, 4, 4] input "dy"
  (%5 : f32[2, 3, 4, 4]) = relu(%0) "relu"
  () = pause() "forward"
  (%6 : f32[2, 3, 4, 4], %7 : f32[3], %8 : f32[3]) = batch_norm2d_gradient(%0, %1, %2, %3, _, %4) "bn" {relu=0, residual=0}
  (%9 : f32[3, 3, 1, 1], %10 : f32[3] gradient "a.bias") = conv2d_weight_gradient(%0, %6) "a" {bias=1, weight_shape=[3, 3, 1, 1]}
  return %5, %9
})");
  zero_biases(graph);
  verify(graph);
  ASSERT_EQ(graph.nodes().size(), 5u);
  EXPECT_EQ(graph.nodes()[1].op, &pause_op);
  EXPECT_EQ(graph.nodes()[4].op, &fill_all_op);
}

TEST(ZeroBiases, AreThereBeforeTheirFirstReader) {
  Graph graph = parse_graph(R"(
graph "net" {
  %0 : f32[2, 3, 4, 4] samples "x"
  %1 : f32[3] parameter "bn.weight"
  %2 : f32[3] input "mean"
  %3 : f32[3] input "inv_std"
  %4 : f32[2, 3, 4, 4] input "dy"
  (%5 : f32[2, 3, 4, 4], %6 : f32[3], %7 : f32[3]) = batch_norm2d_gradient(%0, %1, %2, %3, _, %4) "bn" {relu=0, residual=0}
  (%8 : f32[3, 3, 1, 1], %9 : f32[3] gradient "a.bias") = conv2d_weight_gradient(%0, %5) "a" {bias=1, weight_shape=[3, 3, 1, 1]}
  () = all_reduce(%9) "bucket0" {bucket=0}
  (%10 : f32[2, 3, 4, 4]) = relu(%5) "c"
  () = all_reduce(%9) "bucket1" {bucket=1}
  return %8, %10
})");
  zero_biases(graph);
  verify(graph);
  ASSERT_EQ(graph.nodes().size(), 6u);
  EXPECT_EQ(graph.nodes()[2].op, &fill_all_op);
  EXPECT_EQ(graph.nodes()[3].op, &all_reduce_op);
}

TEST(ZeroBiases, LeavesAGraphWithNone) {
  constexpr const char* kNone = R"(
graph "net" {
  %0 : f32[2, 3] samples "x"
  (%1 : f32[2, 3]) = relu(%0) "a"
  return %1
})";
  Graph graph = parse_graph(kNone);
  zero_biases(graph);
  EXPECT_GRAPH(graph, kNone);
}

}  // namespace
}  // namespace troika
