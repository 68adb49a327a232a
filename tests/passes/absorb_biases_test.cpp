// Tests of absorb_biases: the convolutions whose bias moves to batch_norm2d.
#include "passes/graph_text.h"
#include "passes/passes.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

constexpr const char* kBegin = R"(
graph "net" {
  %0 : f32[2, 3, 4, 4] samples "x"
  %1 : f32[3, 3, 1, 1] parameter "conv.weight"
  %2 : f32[3] parameter "conv.bias"
  %3 : f32[3] parameter "bn.weight"
  %4 : f32[3] parameter "bn.bias"
  %5 : f32[3] buffer "bn.running_mean"
  %6 : f32[3] buffer "bn.running_var"
  %7 : i64[] buffer "bn.num_batches_tracked"
  %8 : f32[2, 3, 4, 4] input "dy"
)";

constexpr const char* kWindow = "dilation=[1, 1], groups=1, kernel=[1, 1], padding=[0, 0], stride=[1, 1]";

std::string net(const std::string& nodes) {
  std::string text = kBegin + nodes + "})";
  for (size_t at; (at = text.find("WINDOW")) != std::string::npos;) text.replace(at, 6, kWindow);
  return text;
}

Graph absorbed(const std::string& nodes) {
  Graph graph = parse_graph(net(nodes));
  absorb_biases(graph);
  verify(graph);
  return graph;
}

TEST(AbsorbBiases, LeavesABiasToTheMeanThatIsTracked) {
  EXPECT_GRAPH(absorbed(R"(  (%9 : f32[2, 3, 4, 4]) = conv2d(%0, %1, %2) "conv" {WINDOW}
  (%10 : f32[2, 3, 4, 4], %11 : f32[3], %12 : f32[3]) = batch_norm2d(%9, %3, %4, %5, %6, %7, _) "bn" {eps=1e-05, momentum=0.1, relu=0}
  (%13 : f32[2, 3, 4, 4], %14 : f32[3], %15 : f32[3]) = batch_norm2d_gradient(%9, %3, %11, %12, _, %8) "bn" {relu=0, residual=0}
  return %10, %13, %14, %15
)"),
               net(R"(  (%9 : f32[2, 3, 4, 4]) = conv2d(%0, %1, _) "conv" {WINDOW}
  (%10 : f32[2, 3, 4, 4], %11 : f32[3], %12 : f32[3]) = batch_norm2d(%9, %3, %4, %5, %6, %7, _, _, %2) "bn" {eps=1e-05, momentum=0.1, relu=0}
  (%13 : f32[2, 3, 4, 4], %14 : f32[3], %15 : f32[3]) = batch_norm2d_gradient(%9, %3, %11, %12, _, %8) "bn" {relu=0, residual=0}
  return %10, %13, %14, %15
)"));
}

// A convolution is recomputed for the backward pass, and another node reads its first result.
TEST(AbsorbBiases, TreatsWhatIsComputedAgainLikeTheFirstTime) {
  const std::string again = R"(  (%9 : f32[2, 3, 4, 4]) = conv2d(%0, %1, %2) "conv" {WINDOW}
  (%10 : f32[2, 3, 4, 4], %11 : f32[3], %12 : f32[3]) = batch_norm2d(%9, %3, %4, %5, %6, %7, _) "bn" {eps=1e-05, momentum=0.1, relu=0}
  (%13 : f32[2, 3, 4, 4]) = conv2d(%0, %1, %2) "conv" {WINDOW}
  (%14 : f32[2, 3, 4, 4], %15 : f32[3], %16 : f32[3]) = batch_norm2d_gradient(%13, %3, %11, %12, _, %8) "bn" {relu=0, residual=0}
)";
  const std::string read = again + "  return %9, %10, %14\n";
  EXPECT_GRAPH(absorbed(read), net(read));
  const Graph graph = absorbed(again + "  return %10, %14\n");
  for (size_t conv : {0, 2}) EXPECT_EQ(graph.nodes()[conv].inputs[2], kNoValue) << print_graph(graph);
}

TEST(AbsorbBiases, KeepsABiasThatOthersSee) {
  for (
      const char* nodes :
      {// An output.
       R"(  (%9 : f32[2, 3, 4, 4]) = conv2d(%0, %1, %2) "conv" {WINDOW}
  (%10 : f32[2, 3, 4, 4], %11 : f32[3], %12 : f32[3]) = batch_norm2d(%9, %3, %4, %5, %6, %7, _) "bn" {eps=1e-05, momentum=0.1, relu=0}
  return %10, %9
)",
       // The residual of its own batch_norm2d.
       R"(  (%9 : f32[2, 3, 4, 4]) = conv2d(%0, %1, %2) "conv" {WINDOW}
  (%10 : f32[2, 3, 4, 4], %11 : f32[3], %12 : f32[3]) = batch_norm2d(%9, %3, %4, %5, %6, %7, %9) "bn" {eps=1e-05, momentum=0.1, relu=0}
  return %10
)",
       // Running statistics instead of the statistics of the batch.
       R"(  (%9 : f32[2, 3, 4, 4]) = conv2d(%0, %1, %2) "conv" {WINDOW}
  (%10 : f32[2, 3, 4, 4]) = batch_norm2d_inference(%9, %3, %4, %5, %6, _, _) "bn" {eps=1e-05, momentum=0.1, relu=0}
  return %10
)",
       // A ReLU in the convolution.
       R"(  (%9 : f32[2, 3, 4, 4]) = conv2d(%0, %1, %2) "conv" {dilation=[1, 1], groups=1, kernel=[1, 1], padding=[0, 0], relu=1, stride=[1, 1]}
  (%10 : f32[2, 3, 4, 4], %11 : f32[3], %12 : f32[3]) = batch_norm2d(%9, %3, %4, %5, %6, %7, _) "bn" {eps=1e-05, momentum=0.1, relu=0}
  return %10
)"})
    EXPECT_GRAPH(absorbed(nodes), net(nodes));
}

}  // namespace
}  // namespace troika
