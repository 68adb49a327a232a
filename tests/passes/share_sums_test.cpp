// Tests of share_sums: gradients of biases that batch_norm2d_gradient has already.
#include "passes/graph_text.h"
#include "passes/passes.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

// Returns a graph with these nodes between samples, parameters and outputs.
std::string network(const std::string& nodes) {
  return R"(
graph "net" {
  %0 : f32[2, 3, 4, 4] samples "x"
  %1 : f32[3] parameter "bn.weight"
  %2 : f32[3] input "mean"
  %3 : f32[3] input "inv_std"
  %4 : f32[2, 3, 4, 4] input "dy"
)" + nodes +
         "}";
}

Graph shared(const std::string& nodes) {
  Graph graph = parse_graph(network(nodes));
  share_sums(graph);
  verify(graph);
  return graph;
}

std::string weight_gradient(const std::string& dy, const std::string& bias, int has_bias) {
  return "  (%9 : f32[3, 3, 1, 1]" + bias + ") = conv2d_weight_gradient(%0, " + dy +
         ") \"shortcut\" {bias=" + std::to_string(has_bias) + ", weight_shape=[3, 3, 1, 1]}\n";
}

constexpr const char* kBias = ", %10 : f32[3] gradient \"shortcut.bias\"";

TEST(ShareSums, OfAResidualAreThoseOfTheShortcutsBias) {
  const auto norm = [](const std::string& more, const std::string& attributes) {
    return "  (%5 : f32[2, 3, 4, 4], %6 : f32[3], %7 : f32[3], %8 : f32[2, 3, 4, 4]" + more +
           ") = batch_norm2d_gradient(%0, %1, %2, %3, %4, %4) \"bn\" {" + attributes + "relu=1, residual=1}\n";
  };
  EXPECT_GRAPH(shared(norm("", "") + weight_gradient("%8", kBias, 1) + "  return %5, %6, %7, %9\n"),
               network(norm(kBias, "has_dbias_too=1, ") + weight_gradient("%8", "", 0) + "  return %5, %6, %7, %9\n"));
}

// Statistics over several ranks: dz comes from the node of the sums.
TEST(ShareSums, AreThisRanksOwn) {
  const std::string sums =
      R"(  (%11 : f32[7], %8 : f32[2, 3, 4, 4]) = batch_norm2d_gradient_sums(%0, %2, %4, %4) "bn" {relu=1, residual=1}
  (%12 : f32[7]) = data_sum(%11) "bn"
)";
  const auto norm = [](const std::string& more, const std::string& attributes) {
    return "  (%5 : f32[2, 3, 4, 4], %6 : f32[3], %7 : f32[3]" + more +
           ") = batch_norm2d_gradient(%0, %1, %2, %3, _, %8, %11, %12) \"bn\" {" + attributes + "relu=0, residual=0}\n";
  };
  const std::string end = "  return %5, %6, %7, %9\n";
  EXPECT_GRAPH(shared(sums + norm("", "") + weight_gradient("%8", kBias, 1) + end),
               network(sums + norm(kBias, "has_dbias_too=1, ") + weight_gradient("%8", "", 0) + end));
  // The node that has the sums comes too late for what reads the bias's gradient.
  const std::string late = sums + weight_gradient("%8", kBias, 1) + norm("", "") + end;
  EXPECT_GRAPH(shared(late), network(late));
}

TEST(ShareSums, LeaveABiasWhoseGradientIsNotOfAResidual) {
  const std::string nodes = weight_gradient("%4", kBias, 1) + "  return %9\n";
  EXPECT_GRAPH(shared(nodes), network(nodes));
}

}  // namespace
}  // namespace troika
