// Tests of fuse_adds: the sums of gradients that batch_norm2d_gradient computes.
#include "passes/graph_text.h"
#include "passes/passes.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

// Returns a graph with the forward pass of one batch_norm2d, followed by `nodes`.
std::string backward(const std::string& nodes) {
  return R"(
graph "net" {
  %0 : f32[2, 3, 4, 4] samples "x"
  %1 : f32[3] parameter "bn.weight"
  %2 : f32[3] input "mean"
  %3 : f32[3] input "inv_std"
  %4 : f32[2, 3, 4, 4] input "y"
  %5 : f32[2, 3, 4, 4] input "a"
  %6 : f32[2, 3, 4, 4] input "b"
)" + nodes +
         "})";
}

Graph fused(const std::string& nodes) {
  Graph graph = parse_graph(backward(nodes));
  fuse_adds(graph);
  verify(graph);
  return graph;
}

TEST(FuseAdds, KeepsTheSumAsWhatTheResidualGets) {
  EXPECT_GRAPH(
      fused(R"(  (%7 : f32[2, 3, 4, 4]) = add(%5, %6) "y"
  (%8 : f32[2, 3, 4, 4], %9 : f32[3], %10 : f32[3], %11 : f32[2, 3, 4, 4]) = batch_norm2d_gradient(%0, %1, %2, %3, %4, %7) "bn" {relu=1, residual=1}
  return %8, %9, %10, %11
)"),
      backward(
          R"(  (%8 : f32[2, 3, 4, 4], %9 : f32[3], %10 : f32[3], %11 : f32[2, 3, 4, 4]) = batch_norm2d_gradient(%0, %1, %2, %3, %4, %5, _, _, %6) "bn" {relu=1, residual=1}
  return %8, %9, %10, %11
)"));
}

TEST(FuseAdds, KeepsTheSumWhereThereIsNoResidual) {
  EXPECT_GRAPH(
      fused(R"(  (%7 : f32[2, 3, 4, 4]) = add(%5, %6) "y"
  (%8 : f32[2, 3, 4, 4], %9 : f32[3], %10 : f32[3]) = batch_norm2d_gradient(%0, %1, %2, %3, _, %7) "bn" {relu=0, residual=0}
  return %8, %9, %10
)"),
      backward(
          R"(  (%8 : f32[2, 3, 4, 4], %9 : f32[3], %10 : f32[3], %11 : f32[2, 3, 4, 4]) = batch_norm2d_gradient(%0, %1, %2, %3, _, %5, _, _, %6) "bn" {relu=0, residual=1}
  return %8, %9, %10
)"));
}

TEST(FuseAdds, AddsTheLastOfThree) {
  const Graph graph = fused(R"(  (%7 : f32[2, 3, 4, 4]) = add(%5, %6) "y"
  (%8 : f32[2, 3, 4, 4]) = add(%7, %0) "y"
  (%9 : f32[2, 3, 4, 4], %10 : f32[3], %11 : f32[3]) = batch_norm2d_gradient(%0, %1, %2, %3, _, %8) "bn" {relu=0, residual=0}
  return %9, %10, %11
)");
  ASSERT_EQ(graph.nodes().size(), 2u) << print_graph(graph);
  EXPECT_EQ(graph.nodes()[1].inputs[5], graph.nodes()[0].outputs[0]);
}

TEST(FuseAdds, LeavesSumsThatOthersReadOrThatAreCutOrThatMeetSumsOverRanks) {
  for (const char* nodes : {R"(  (%7 : f32[2, 3, 4, 4]) = add(%5, %6) "y"
  (%8 : f32[2, 3, 4, 4], %9 : f32[3], %10 : f32[3]) = batch_norm2d_gradient(%0, %1, %2, %3, _, %7) "bn" {relu=0, residual=0}
  return %7, %8, %9, %10
)",
                            R"(  (%7 : f32[2, 3, 4, 4]) = add(%5, %6) "y" {relu=1}
  (%8 : f32[2, 3, 4, 4], %9 : f32[3], %10 : f32[3]) = batch_norm2d_gradient(%0, %1, %2, %3, _, %7) "bn" {relu=0, residual=0}
  return %8, %9, %10
)",
                            R"(  %12 : f32[7] input "sums"
  (%7 : f32[2, 3, 4, 4]) = add(%5, %6) "y"
  (%8 : f32[2, 3, 4, 4], %9 : f32[3], %10 : f32[3]) = batch_norm2d_gradient(%0, %1, %2, %3, _, %7, %12, %12) "bn" {relu=0, residual=0}
  return %8, %9, %10
)"})
    EXPECT_GRAPH(fused(nodes), backward(nodes));
}

}  // namespace
}  // namespace troika
