// Tests of fuse_norms: convolutions that apply the batch_norm2d and ReLU before them.
#include "passes/graph_text.h"
#include "passes/passes.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

const std::string kWindow = "dilation=[1, 1], groups=1, kernel=[3, 3], ";

// The nodes of a step: a batch_norm2d of %0 with moments, a convolution of its result, the weight
// gradient, and the input gradient with the gradient of the ReLU. `x` is what convolutions read,
// `norm` are their last inputs, `y` is what the input gradient reads. The others are attributes.
struct Text {
  std::string x = "%6", norm = "", normalizes = "", y = "%6", skips = "", relu = "1", residual = "_";
  std::string more = "", outputs = "%9, %10, %11, %12";

  std::string graph() const {
    return R"(
graph "net" {
  %0 : f32[2, 5, 4, 4] samples "x"
  %1 : f32[3, 5, 3, 3] parameter "conv.weight"
  %2 : f32[5] parameter "bn.weight"
  %3 : f32[5] parameter "bn.bias"
  %4 : f32[7, 11] input "moments"
  %5 : f32[2, 3, 4, 4] input "dy"
  (%6 : f32[2, 5, 4, 4], %7 : f32[5], %8 : f32[5]) = batch_norm2d(%0, %2, %3, _, _, _, )" +
           residual + R"(, %4) "bn" {eps=1e-05, momentum=0.1, relu=)" + relu + skips + R"(}
  (%9 : f32[2, 3, 4, 4]) = conv2d()" +
           x + ", %1, _" + norm + ") \"conv\" {" + kWindow + normalizes + R"(padding=[1, 1], relu=0, stride=[1, 1]}
  (%10 : f32[3, 5, 3, 3]) = conv2d_weight_gradient()" +
           x + ", %5" + norm + ") \"conv\" {bias=0, " + kWindow + normalizes +
           R"(padding=[1, 1], relu=0, stride=[1, 1], weight_shape=[3, 5, 3, 3]}
  (%11 : f32[2, 5, 4, 4], %12 : f32[6, 11]) = conv2d_input_gradient(%1, %5, %0, )" +
           y + ", %2, %3, %7, %8) \"conv\" {" + kWindow +
           "input_shape=[2, 5, 4, 4], padding=[1, 1], relu=0, stride=[1, 1], sums=6}\n" + more + "  return " + outputs +
           "\n}\n";
  }
};

Graph fused(const Text& text, bool normalizes = true) {
  Graph graph = parse_graph(text.graph());
  fuse_norms(graph, [=](const Graph&, const Node&) { return normalizes; });
  verify(graph);
  return graph;
}

TEST(FuseNorms, LetsConvolutionsReadTheInputOfBatchNorm) {
  EXPECT_GRAPH(
      fused(Text{}),
      (Text{.x = "%0", .norm = ", %2, %3, %7, %8", .normalizes = "normalizes=1, ", .y = "_", .skips = ", skips_y=1"})
          .graph());
}

TEST(FuseNorms, LeavesConvolutionsWhoseKernelsCannot) { EXPECT_GRAPH(fused(Text{}, false), Text{}.graph()); }

TEST(FuseNorms, LeavesImagesThatOthersRead) {
  for (const Text& text :
       {Text{.outputs = "%6, %9, %10, %11, %12"},
        Text{.more = "  (%13 : f32[2, 5, 4, 4]) = add(%6, %0) \"sum\"\n", .outputs = "%9, %10, %11, %12, %13"},
        Text{.more = "  (%13 : f32[2, 3, 4, 4]) = conv2d(%6, %1, _) \"other\" {" + kWindow +
                     "padding=[1, 1], relu=0, stride=[1, 1]}\n",
        .outputs = "%9, %10, %11, %12, %13"}})
    EXPECT_GRAPH(fused(text), text.graph());
}

// The text with one part changed, which is there once.
std::string with(std::string text, const std::string& part, const std::string& other) {
  const size_t found = text.find(part);
  EXPECT_NE(found, std::string::npos) << part;
  return text.replace(found, part.size(), other);
}

void expect_left(const std::string& text) {
  Graph graph = parse_graph(text);
  fuse_norms(graph, [](const Graph&, const Node&) { return true; });
  EXPECT_GRAPH(graph, text);
}

TEST(FuseNorms, LeavesStatisticsThatAreReadFromTheImage) {
  expect_left(with(Text{}.graph(), "_, %4) \"bn\"", "_, _) \"bn\""));
}

TEST(FuseNorms, LeavesAConvolutionWithAReluOrABias) {
  const std::string conv2d = "(%6, %1, _) \"conv\" {" + kWindow + "padding=[1, 1], relu=";
  expect_left(with(Text{}.graph(), conv2d + "0", conv2d + "1"));
  const std::string bias = "  %13 : f32[3] parameter \"conv.bias\"\n  (%6";
  expect_left(with(with(Text{}.graph(), "  (%6", bias), "(%6, %1, _)", "(%6, %1, %13)"));
}

TEST(FuseNorms, LeavesAMaskForTheGradientOfTheRelu) {
  std::string text = with(Text{}.graph(), "%8 : f32[5]) = batch_norm2d", "%8 : f32[5], %13 : u8[20]) = batch_norm2d");
  expect_left(with(text, "momentum=0.1, relu=1", "mask=1, momentum=0.1, relu=1"));
}

TEST(FuseNorms, LeavesABatchNormWithoutAReluOrWithAResidual) {
  for (const Text& text : {Text{.relu = "0"}, Text{.residual = "%0"}}) EXPECT_GRAPH(fused(text), text.graph());
}

}  // namespace
}  // namespace troika
