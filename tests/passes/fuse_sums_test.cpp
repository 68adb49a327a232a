// Tests of fuse_sums: convolutions that return sums to batch_norm2d and its gradient.
#include "passes/graph_text.h"
#include "passes/passes.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

// The attributes of the convolution. `more` comes after the others by name.
std::string window(const std::string& more = "") {
  return "{dilation=[1, 1], groups=1, kernel=[3, 3], padding=[1, 1], relu=0, stride=[1, 1]" + more + "}";
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

KernelsOfSums kernels_of(int64_t rows, bool has_mask = false) {
  return {.rows = [=](const Graph&, const Node&) { return rows; },
          .has_mask = [=](const Graph&, const Node&) { return has_mask; }};
}

Graph fused(const std::string& nodes, int64_t rows) {
  Graph graph = parse_graph(network(nodes));
  fuse_sums(graph, kernels_of(rows));
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

TEST(FuseSums, AreAnOutputOfTheConvolution) {
  EXPECT_GRAPH(
      fused(plain("%4, %2, %3, _, _, _, _"), 7),
      network("  (%4 : f32[2, 5, 4, 4], %8 : f32[7, 11]) = conv2d(%0, %1, _) \"conv\" " + window(", sums=7") + R"(
  (%5 : f32[2, 5, 4, 4], %6 : f32[5], %7 : f32[5]) = batch_norm2d(%4, %2, %3, _, _, _, _, %8) "bn" {eps=1e-05, momentum=0.1, relu=1}
  return %5
)"));
}

TEST(FuseSums, LeavesAConvolutionWhoseKernelHasNone) {
  const std::string nodes = plain("%4, %2, %3, _, _, _, _");
  EXPECT_GRAPH(fused(nodes, 0), network(nodes));
}

TEST(FuseSums, LeavesMomentsOfAllRanks) {
  const std::string nodes = "  (%4 : f32[2, 5, 4, 4]) = conv2d(%0, %1, _) \"conv\" " + window() + R"(
  (%8 : f32[2, 11]) = batch_norm2d_moments(%4) "bn" {rank=0, ranks=2}
  (%9 : f32[2, 11]) = data_sum(%8) "bn"
  (%5 : f32[2, 5, 4, 4], %6 : f32[5], %7 : f32[5]) = batch_norm2d(%4, %2, %3, _, _, _, _, %9) "bn" {eps=1e-05, momentum=0.1, relu=1}
  return %5
)";
  EXPECT_GRAPH(fused(nodes, 7), network(nodes));
}

TEST(FuseSums, LeavesABias) {
  std::string nodes = plain("%4, %2, %3, _, _, _, _");
  nodes.replace(nodes.find("(%0, %1, _)"), 11, "(%0, %1, %3)");
  EXPECT_FALSE(fused(nodes, 7).nodes()[0].attributes.has("sums"));
}

TEST(FuseSums, LeavesAReluBetween) {
  std::string nodes = plain("%4, %2, %3, _, _, _, _");
  nodes.replace(nodes.find("relu=0"), 6, "relu=1");
  EXPECT_FALSE(fused(nodes, 7).nodes()[0].attributes.has("sums"));
}

// The backward pass of a batch_norm2d with a ReLU between two convolutions of 5 channels.
// `gradient` has the nodes of the second convolution's input gradient and of batch_norm2d's
// gradient. `mask` and `attribute` are those of the forward node.
std::string backward(const std::string& gradient, const std::string& mask = "", const std::string& attribute = "") {
  return R"(
graph "net" {
  %0 : f32[2, 5, 4, 4] samples "x"
  %1 : f32[3, 5, 3, 3] parameter "conv.weight"
  %2 : f32[5] parameter "bn.weight"
  %3 : f32[5] parameter "bn.bias"
  %4 : f32[2, 3, 4, 4] input "dy"
  (%5 : f32[2, 5, 4, 4], %6 : f32[5], %7 : f32[5])" +
         mask + ") = batch_norm2d(%0, %2, %3, _, _, _, _) \"bn\" {eps=1e-05, " + attribute + "momentum=0.1, relu=1}\n" +
         gradient + R"(  return %5, %9, %10, %11
}
)";
}

// `more` comes after the attributes, and `inputs` and `outputs` after the usual ones.
std::string input_gradient(const std::string& more = "", const std::string& inputs = "",
                           const std::string& outputs = "") {
  return "  (%8 : f32[2, 5, 4, 4]" + outputs + ") = conv2d_input_gradient(%1, %4" + inputs + ") \"conv\" " +
         "{dilation=[1, 1], groups=1, input_shape=[2, 5, 4, 4], kernel=[3, 3], padding=[1, 1], relu=0, stride=[1, 1]" +
         more + "}\n";
}

std::string norm_gradient(const std::string& inputs, const std::string& attributes = "{relu=1, residual=0}",
                          const std::string& outputs = "") {
  return "  (%9 : f32[2, 5, 4, 4], %10 : f32[5], %11 : f32[5]" + outputs + ") = batch_norm2d_gradient(" + inputs +
         ") \"bn\" " + attributes + "\n";
}

Graph fused_backward(const std::string& gradient, bool has_mask = false, int64_t rows = 7) {
  Graph graph = parse_graph(backward(gradient));
  fuse_sums(graph, kernels_of(rows, has_mask));
  verify(graph);
  return graph;
}

TEST(FuseSums, OfAGradientTakeTheReluAlong) {
  EXPECT_GRAPH(fused_backward(input_gradient() + norm_gradient("%0, %2, %6, %7, %5, %8")),
               backward(input_gradient(", sums=7", ", %0, %5, %2, %3, %6, %7", ", %12 : f32[7, 11]") +
                        norm_gradient("%0, %2, %6, %7, _, %8, %12, %12", "{relu=0, residual=0}")));
}

TEST(FuseSums, LeaveAGradientWithTwoReaders) {
  const std::string nodes = input_gradient() + norm_gradient("%0, %2, %6, %7, %5, %8") +
                            "  (%12 : f32[2, 5, 4, 4]) = add(%8, %8) \"more\" {relu=0}\n";
  EXPECT_GRAPH(fused_backward(nodes), backward(nodes));
}

// As if x had been dropped and was computed again after the input gradient.
TEST(FuseSums, LeaveAGradientWhoseNormIsMadeLater) {
  const std::string nodes =
      input_gradient() + "  (%12 : f32[2, 5, 4, 4]) = relu(%0) \"again\"\n" + norm_gradient("%12, %2, %6, %7, %5, %8");
  EXPECT_GRAPH(fused_backward(nodes), backward(nodes));
}

TEST(FuseSums, LeaveAGradientWithAResidual) {
  const std::string nodes =
      input_gradient() + norm_gradient("%0, %2, %6, %7, %5, %8", "{relu=1, residual=1}", ", %12 : f32[2, 5, 4, 4]");
  EXPECT_GRAPH(fused_backward(nodes), backward(nodes));
}

constexpr const char *kMask = ", %13 : u8[20]", *kMaskAttribute = "mask=1, ";

// As at the end of a block of a ResNet, with a reader of dz.
std::string end_of_block(const std::string& inputs) {
  return norm_gradient(inputs, "{relu=1, residual=1}", ", %12 : f32[2, 5, 4, 4]");
}

TEST(FuseSums, ReadAMaskInPlaceOfAnImage) {
  EXPECT_GRAPH(fused_backward(input_gradient() + end_of_block("%0, %2, %6, %7, %5, %8"), true),
               backward(input_gradient() + end_of_block("%0, %2, %6, %7, %13, %8"), kMask, kMaskAttribute));
}

// The other gradient is %0, for it is made before.
TEST(FuseSums, OfTwoGradientsTakeTheAdditionAndTheReluAlong) {
  const std::string reader = "  (%13 : f32[2, 5, 4, 4]) = relu(%12) \"reader\"\n",
                    other_reader = "  (%13 : f32[2, 5, 4, 4]) = relu(%8) \"reader\"\n";
  const std::string expected =
      backward(input_gradient(", sums=7", ", %0, %14, %2, %3, %6, %7, %0", ", %15 : f32[7, 11]") +
                   norm_gradient("%0, %2, %6, %7, _, %8, %15, %15", "{relu=0, residual=0}") + other_reader,
               ", %14 : u8[20]", kMaskAttribute);
  for (const char* both : {"%8, _, _, %0", "%0, _, _, %8"})
    EXPECT_GRAPH(
        fused_backward(input_gradient() + end_of_block(std::string("%0, %2, %6, %7, %5, ") + both) + reader, true),
        expected)
        << both;
}

TEST(FuseSums, OfTwoGradientsNeedBothBefore) {
  const std::string later = "  (%13 : f32[2, 5, 4, 4]) = relu(%0) \"later\"\n";
  EXPECT_GRAPH(fused_backward(input_gradient() + later + end_of_block("%0, %2, %6, %7, %5, %8, _, _, %13"), true),
               backward(input_gradient() + later + end_of_block("%0, %2, %6, %7, %14, %8, _, _, %13"), ", %14 : u8[20]",
                        kMaskAttribute));
}

TEST(FuseSums, OfTwoGradientsNeedAKernel) {
  EXPECT_GRAPH(fused_backward(input_gradient() + end_of_block("%0, %2, %6, %7, %5, %8, _, _, %0"), true, 0),
               backward(input_gradient() + end_of_block("%0, %2, %6, %7, %13, %8, _, _, %0"), kMask, kMaskAttribute));
}

}  // namespace
}  // namespace troika
