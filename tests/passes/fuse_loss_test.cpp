// Tests of fuse_loss: the last linear layer, its loss and their gradients as one node.
#include <gtest/gtest.h>

#include "passes/graph_text.h"
#include "passes/passes.h"

namespace troika {
namespace {

// Returns the end of a classifier of 3 classes after a hidden layer with a ReLU. `nodes` follow the
// hidden layer.
std::string network(const std::string& dtype, const std::string& nodes) {
  return R"(
graph "net" {
  %0 : )" +
         dtype +
         R"([2, 4] samples "x"
  %1 : i32[2] targets "labels"
  %2 : )" +
         dtype + R"([5, 4] input "fc1.weight"
  %3 : )" +
         dtype + R"([3, 5] input "fc2.weight"
  %4 : f32[3] parameter "fc2.bias"
  %5 : f32[2] input "scale"
  (%6 : )" +
         dtype + R"([2, 5]) = linear(%0, %2, _) "fc1" {relu=1}
)" + nodes +
         "}";
}

const std::string kInputGradient = "linear_input_gradient(%3, %11) \"fc2\" {input_shape=[2, 5]}\n";

Graph fused(const std::string& text, bool has_kernel = true) {
  Graph graph = parse_graph(text);
  fuse_loss(graph, [=](const Graph&, const Node& linear) { return has_kernel && linear.name == "fc2"; });
  verify(graph);
  return graph;
}

// In 16 bits, with a loss scale. The hidden layer's ReLU has a gradient.
const std::string kInBf16 = network("bf16", R"(  (%7 : f32[2, 3]) = linear(%6, %3, %4) "fc2" {f32_output=1, relu=0}
  (%8 : f64[1], %9 : i64[1], %10 : f32[2, 3]) = cross_entropy(%7, %1, %5) "loss" {scale=0.5}
  (%12 : f32[2, 3]) = cross_entropy_gradient(%10, %1, %5) "loss" {scale=0.5}
  (%11 : bf16[2, 3]) = cast(%12) "fc2" {dtype=6}
  (%14 : f32[3, 5], %15 : f32[3]) = linear_weight_gradient(%6, %11) "fc2" {bias=1, weight_shape=[3, 5]}
  (%13 : bf16[2, 5]) = )" + kInputGradient + R"(  (%16 : bf16[2, 5]) = relu_gradient(%6, %13) "fc1"
  return %14, %15, %16, %8, %9
)");

TEST(FuseLoss, TakesTheLastLayerWithItsLossAndTheReluBefore) {
  EXPECT_GRAPH(fused(kInBf16), network("bf16", R"(
  (%8 : f64[1], %9 : i64[1], %11 : bf16[2, 3], %16 : bf16[2, 5]) = linear_cross_entropy(%6, %3, %4, %1, %5) "loss" {input_relu=1, scale=0.5}
  (%14 : f32[3, 5], %15 : f32[3]) = linear_weight_gradient(%6, %11) "fc2" {bias=1, weight_shape=[3, 5]}
  return %14, %15, %16, %8, %9
)"));
}

TEST(FuseLoss, LeavesALayerForWhichTheDeviceHasNoKernel) { EXPECT_GRAPH(fused(kInBf16, false), kInBf16); }

// In f32, without a cast. `slope_inputs` are those of cross_entropy's gradient after the
// probabilities. `nodes` follow the input gradient, which is %13.
std::string in_f32(const std::string& results, const std::string& nodes = "", const std::string& slope_inputs = "%1") {
  return network("f32", R"(  (%7 : f32[2, 3]) = linear(%6, %3, %4) "fc2" {relu=0}
  (%8 : f64[1], %9 : i64[1], %10 : f32[2, 3]) = cross_entropy(%7, %1) "loss" {ignore_index=2, scale=0.5}
  (%11 : f32[2, 3]) = cross_entropy_gradient(%10, )" +
                            slope_inputs + R"() "loss" {ignore_index=2, scale=0.5}
  (%13 : f32[2, 5]) = )" + kInputGradient +
                            nodes + "  return " + results + "\n");
}

std::string fused_in_f32(const std::string& results, const std::string& nodes = "") {
  return network("f32", R"(
  (%8 : f64[1], %9 : i64[1], %11 : f32[2, 3], %13 : f32[2, 5]) = linear_cross_entropy(%6, %3, %4, %1) "loss" {ignore_index=2, input_relu=0, scale=0.5}
)" + nodes + "  return " + results +
                            "\n");
}

TEST(FuseLoss, TakesALayerInF32) { EXPECT_GRAPH(fused(in_f32("%13, %8, %9")), fused_in_f32("%13, %8, %9")); }

TEST(FuseLoss, LeavesTheReluOfAnotherValue) {
  const std::string nodes = "  (%16 : f32[2, 5]) = relu_gradient(%13, %13) \"other\"\n";
  EXPECT_GRAPH(fused(in_f32("%16, %8, %9", nodes)), fused_in_f32("%16, %8, %9", nodes));
}

TEST(FuseLoss, LeavesAReluIfMoreReadsTheGradientBeforeIt) {
  const std::string nodes = "  (%16 : f32[2, 5]) = relu_gradient(%6, %13) \"fc1\"\n";
  EXPECT_GRAPH(fused(in_f32("%16, %13, %8, %9", nodes)), fused_in_f32("%16, %13, %8, %9", nodes));
}

// Between the pieces of a step the host reads them.
TEST(FuseLoss, ReturnsLogitsThatAreAResult) {
  EXPECT_GRAPH(fused(in_f32("%7, %13, %8, %9")), network("f32", R"(
  (%8 : f64[1], %9 : i64[1], %11 : f32[2, 3], %13 : f32[2, 5], %7 : f32[2, 3]) = linear_cross_entropy(%6, %3, %4, %1) "loss" {ignore_index=2, input_relu=0, logits=1, scale=0.5}
  return %7, %13, %8, %9
)"));
}

TEST(FuseLoss, LeavesLogitsThatAnotherNodeReads) {
  const std::string text = in_f32("%16, %13, %8, %9", "  (%16 : f32[2, 3]) = relu(%7) \"more\"\n");
  EXPECT_GRAPH(fused(text), text);
}

TEST(FuseLoss, LeavesProbabilitiesAndSlopesThatMoreReads) {
  const std::string probabilities = in_f32("%10, %13, %8, %9");
  EXPECT_GRAPH(fused(probabilities), probabilities);
  std::string slopes = kInBf16;
  slopes.replace(slopes.find("return %14"), 10, "return %12, %14");
  EXPECT_GRAPH(fused(slopes), slopes);
}

TEST(FuseLoss, LeavesAGradientByAnotherWeight) {
  std::string text = in_f32("%13, %8, %9", "  (%16 : f32[3, 5]) = relu(%3) \"other\"\n");
  const size_t made = text.find("  (%16"), length = text.find('\n', made) + 1 - made;
  const std::string node = text.substr(made, length);
  text.erase(made, length).insert(text.find("  (%7"), node);
  text.replace(text.find("linear_input_gradient(%3"), 24, "linear_input_gradient(%16");
  EXPECT_GRAPH(fused(text), text);
}

// Recompute casts a parameter once more for the backward pass.
TEST(FuseLoss, TakesAGradientByASecondCastOfTheWeight) {
  const std::string begin = R"(
graph "net" {
  %0 : bf16[2, 5] samples "x"
  %1 : i32[2] targets "labels"
  %2 : f32[3, 5] parameter "fc.weight"
  (%3 : bf16[3, 5]) = cast(%2) "fc.weight" {dtype=6}
)",
                    end = "  return %9, %5, %6\n}";
  EXPECT_GRAPH(fused(begin + R"(  (%4 : f32[2, 3]) = linear(%0, %3, _) "fc2" {f32_output=1, relu=0}
  (%5 : f64[1], %6 : i64[1], %7 : f32[2, 3]) = cross_entropy(%4, %1) "loss" {scale=0.5}
  (%8 : f32[2, 3]) = cross_entropy_gradient(%7, %1) "loss" {scale=0.5}
  (%10 : bf16[2, 3]) = cast(%8) "fc2" {dtype=6}
  (%11 : bf16[3, 5]) = cast(%2) "fc.weight" {dtype=6}
  (%9 : bf16[2, 5]) = linear_input_gradient(%11, %10) "fc2" {input_shape=[2, 5]}
)" + end),
               begin +
                   "  (%5 : f64[1], %6 : i64[1], %10 : bf16[2, 3], %9 : bf16[2, 5]) = linear_cross_entropy(%0, %3, _, "
                   "%1) \"loss\" {input_relu=0, scale=0.5}\n" +
                   end);
}

TEST(FuseLoss, KeepsPositions) {
  EXPECT_GRAPH(fused(R"(
graph "net" {
  %0 : f32[2, 4, 5] samples "x"
  %1 : i32[2, 4] targets "labels"
  %3 : f32[3, 5] parameter "fc.weight"
  (%7 : f32[2, 4, 3]) = linear(%0, %3, _) "fc2" {per_position=1, relu=0}
  (%8 : f64[1], %9 : i64[1], %10 : f32[2, 4, 3]) = cross_entropy(%7, %1) "loss" {scale=0.5}
  (%11 : f32[2, 4, 3]) = cross_entropy_gradient(%10, %1) "loss" {scale=0.5}
  (%13 : f32[2, 4, 5]) = linear_input_gradient(%3, %11) "fc2" {input_shape=[2, 4, 5], per_position=1}
  return %13, %8, %9
})"),
               R"(
graph "net" {
  %0 : f32[2, 4, 5] samples "x"
  %1 : i32[2, 4] targets "labels"
  %3 : f32[3, 5] parameter "fc.weight"
  (%8 : f64[1], %9 : i64[1], %11 : f32[2, 4, 3], %13 : f32[2, 4, 5]) = linear_cross_entropy(%0, %3, _, %1) "loss" {input_relu=0, per_position=1, scale=0.5}
  return %13, %8, %9
})");
}

TEST(FuseLoss, LeavesAGradientWithAnotherScale) {
  const std::string text = in_f32("%13, %8, %9", "", "%1, %5");
  EXPECT_GRAPH(fused(text), text);
}

TEST(FuseLoss, LeavesALayerWithoutAnInputGradient) {
  std::string text = in_f32("%11, %8, %9");
  const size_t begin = text.find("  (%13");
  text.erase(begin, text.find('\n', begin) + 1 - begin);
  EXPECT_GRAPH(fused(text), text);
}

TEST(FuseLoss, LeavesAReluOfTheLogits) {
  std::string text = in_f32("%13, %8, %9");
  const size_t at = text.find("\"fc2\" {relu=0}");
  text.replace(at, 14, "\"fc2\" {relu=1}");
  EXPECT_GRAPH(fused(text), text);
}

}  // namespace
}  // namespace troika
