// Tests of fuse_moments: convolutions that return moments to batch_norm2d.
#include "passes/graph_text.h"
#include "passes/passes.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

constexpr const char* kWindow =
    R"({dilation=[1, 1], groups=1, kernel=[3, 3]%, padding=[1, 1], relu=0, stride=[1, 1]})";

std::string window(const std::string& moments = "") {
  std::string text = kWindow;
  return text.replace(text.find('%'), 1, moments);
}

// Returns a graph with these nodes between samples, parameters and an output.
std::string network(const std::string& nodes) {
  return R"(
graph "net" {
  %0 : f32[2, 3, 4, 4] samples "x"
  %1 : f32[5, 3, 3, 3] parameter "conv.weight"
  %2 : f32[5] parameter "bn.weight"
  %3 : f32[5] parameter "bn.bias"
)" + nodes +
         "}";
}

Graph fused(const std::string& nodes, int64_t rows) {
  Graph graph = parse_graph(network(nodes));
  fuse_moments(graph, [&](const Graph&, const Node&) { return rows; });
  verify(graph);
  return graph;
}

std::string plain(const std::string& inputs) {
  return "  (%4 : f32[2, 5, 4, 4]) = conv2d(%0, %1, _) \"conv\" " + window() + R"(
  (%5 : f32[2, 5, 4, 4], %6 : f32[5], %7 : f32[5]) = batch_norm2d()" +
         inputs + R"() "bn" {eps=1e-05, momentum=0.1, relu=1}
  return %5
)";
}

TEST(FuseMoments, AreAnOutputOfTheConvolution) {
  EXPECT_GRAPH(fused(plain("%4, %2, %3, _, _, _, _"), 7),
               network("  (%4 : f32[2, 5, 4, 4], %8 : f32[7, 11]) = conv2d(%0, %1, _) \"conv\" " +
                       window(", moments=7") + R"(
  (%5 : f32[2, 5, 4, 4], %6 : f32[5], %7 : f32[5]) = batch_norm2d(%4, %2, %3, _, _, _, _, %8) "bn" {eps=1e-05, momentum=0.1, relu=1}
  return %5
)"));
}

TEST(FuseMoments, LeavesAConvolutionWhoseKernelHasNone) {
  const std::string nodes = plain("%4, %2, %3, _, _, _, _");
  Graph graph = fused(nodes, 0);
  EXPECT_FALSE(graph.nodes()[0].attributes.has("moments"));
  EXPECT_EQ(graph.nodes()[0].outputs.size(), 1u);
}

TEST(FuseMoments, LeavesMomentsOfAllRanks) {
  const std::string nodes = "  (%4 : f32[2, 5, 4, 4]) = conv2d(%0, %1, _) \"conv\" " + window() + R"(
  (%8 : f32[2, 11]) = batch_norm2d_moments(%4) "bn" {rank=0, ranks=2}
  (%9 : f32[2, 11]) = data_sum(%8) "bn"
  (%5 : f32[2, 5, 4, 4], %6 : f32[5], %7 : f32[5]) = batch_norm2d(%4, %2, %3, _, _, _, _, %9) "bn" {eps=1e-05, momentum=0.1, relu=1}
  return %5
)";
  EXPECT_GRAPH(fused(nodes, 7), network(nodes));
}

TEST(FuseMoments, LeavesAReluBetween) {
  std::string nodes = plain("%4, %2, %3, _, _, _, _");
  nodes.replace(nodes.find("relu=0"), 6, "relu=1");
  EXPECT_FALSE(fused(nodes, 7).nodes()[0].attributes.has("moments"));
}

}  // namespace
}  // namespace troika
