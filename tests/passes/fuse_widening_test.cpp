// Tests of fuse_widening: gradients of weights that kernels return in 16 bits.
#include <gtest/gtest.h>

#include "passes/graph_text.h"
#include "passes/passes.h"

namespace troika {
namespace {

// The attributes of a weight gradient, before and after those that are added.
std::string window(const std::string& more = "") {
  return "{bias=0, dilation=[1, 1], groups=1, kernel=[3, 3], padding=[1, 1], relu=0" + more +
         ", stride=[1, 1], weight_shape=[5, 3, 3, 3]}";
}

std::string network(const std::string& dtype, const std::string& nodes) {
  return R"(
graph "net" {
  %0 : )" +
         dtype + R"([2, 3, 4, 4] samples "x"
  %1 : )" +
         dtype + R"([2, 5, 4, 4] input "dy"
  %2 : f32[5, 3, 3, 3] parameter "a.weight"
  %3 : f32[5, 3, 3, 3] parameter "b.weight"
  %4 : f32[1, 4] settings "settings"
)" + nodes +
         "}";
}

// Two weight gradients, and their update.
const std::string kPlain =
    "  (%5 : f32[5, 3, 3, 3] gradient \"b.weight\") = conv2d_weight_gradient(%0, %1) \"b\" " + window() +
    "\n  (%6 : f32[5, 3, 3, 3] gradient \"a.weight\") = conv2d_weight_gradient(%0, %1) \"a\" " + window() + R"(
  (%7 : bf16[2, 5, 4, 4]) = relu(%1) "between"
  () = sgd_update(%4, _, _, _, _, %2, %6, %3, %5) "sgd" {row=0, slots=0}
  return
)";

Graph fused(const std::string& text, const std::string& layers) {
  Graph graph = parse_graph(text);
  fuse_widening(graph, [&](const Graph&, const Node& node) { return layers.find(node.name) != std::string::npos; });
  verify(graph);
  return graph;
}

TEST(FuseWidening, IsOneNodeBeforeTheFirstReader) {
  EXPECT_GRAPH(
      fused(network("bf16", kPlain), "ab"),
      network("bf16", "  (%8 : bf16[5, 3, 3, 3]) = conv2d_weight_gradient(%0, %1) \"b\" " + window(", rounded=1") +
                          "\n  (%9 : bf16[5, 3, 3, 3]) = conv2d_weight_gradient(%0, %1) \"a\" " +
                          window(", rounded=1") + R"(
  (%7 : bf16[2, 5, 4, 4]) = relu(%1) "between"
  (%5 : f32[5, 3, 3, 3] gradient "b.weight", %6 : f32[5, 3, 3, 3] gradient "a.weight") = cast_all(%8, %9) "gradients" {dtype=1}
  () = sgd_update(%4, _, _, _, _, %2, %6, %3, %5) "sgd" {row=0, slots=0}
  return
)"));
}

TEST(FuseWidening, LeavesKernelsThatReturnF32) {
  EXPECT_GRAPH(fused(network("bf16", kPlain), ""), network("bf16", kPlain));
  const Graph one = fused(network("bf16", kPlain), "a");
  EXPECT_FALSE(one.nodes()[0].attributes.has("rounded"));
  EXPECT_EQ(one.nodes()[3].op, &cast_all_op);
  EXPECT_EQ(one.nodes()[3].outputs, std::vector<ValueId>{6});
}

TEST(FuseWidening, LeavesAStepInF32) {
  std::string plain = kPlain;
  plain.replace(plain.find("bf16"), 4, "f32");
  EXPECT_GRAPH(fused(network("f32", plain), "ab"), network("f32", plain));
}

TEST(FuseWidening, LeavesGradientsThatAreAddedUp) {
  std::string sum = kPlain;
  sum.replace(sum.find(" gradient \"b.weight\""), 20, "");
  sum.replace(sum.find(" gradient \"a.weight\""), 20, "");
  const size_t begin = sum.find("  () = sgd_update");
  sum.replace(begin, sum.find('\n', begin) - begin,
              "  (%8 : f32[5, 3, 3, 3] gradient \"a.weight\") = add(%5, %6) \"a.weight\" {relu=0}\n"
              "  () = sgd_update(%4, _, _, _, _, %2, %8) \"sgd\" {row=0, slots=0}");
  EXPECT_GRAPH(fused(network("bf16", sum), "ab"), network("bf16", sum));
}

// As in a step whose gradients the host reads.
TEST(FuseWidening, IsTheLastNodeWithoutAReader) {
  std::string plain = kPlain;
  const size_t begin = plain.find("  () = sgd_update");
  plain.erase(begin, plain.find('\n', begin) - begin);
  const Graph graph = fused(network("bf16", plain), "ab");
  EXPECT_EQ(graph.nodes().back().op, &cast_all_op);
  EXPECT_EQ(graph.nodes().size(), 4u);
}

}  // namespace
}  // namespace troika
