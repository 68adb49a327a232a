// Tests of mixed_precision: the values with 16 bits, and the places of the casts.
#include "passes/graph_text.h"
#include "passes/passes.h"
#include "passes/precision.h"
#include "support/throws.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

constexpr const char* kNet = R"(
graph "net" {
  %0 : f32[2, 3, 4, 4] samples "x"
  %1 : f32[4, 3, 1, 1] parameter "conv.weight"
  %2 : f32[4] parameter "conv.bias"
  %3 : f32[5, 64] parameter "fc.weight"
  %4 : i32[2] targets "target"
  (%5 : f32[2, 4, 4, 4]) = conv2d(%0, %1, %2) "conv" {dilation=[1, 1], groups=1, kernel=[1, 1], padding=[0, 0], stride=[1, 1]}
  (%6 : f32[2, 5]) = linear(%5, %3, _) "fc"
  (%7 : f64[1], %8 : i64[1], %9 : f32[2, 5]) = cross_entropy(%6, %4) "loss" {scale=0.5}
  return %7, %8
})";

TEST(MixedPrecision, CastsActivationsAndWeightsAndLeavesBiasAndLossInF32) {
  Graph graph = parse_graph(kNet);
  mixed_precision(graph, DType::bf16);
  verify(graph);
  EXPECT_GRAPH(graph, R"(
graph "net" {
  %0 : f32[2, 3, 4, 4] samples "x"
  %1 : f32[4, 3, 1, 1] parameter "conv.weight"
  %2 : f32[4] parameter "conv.bias"
  %3 : f32[5, 64] parameter "fc.weight"
  %4 : i32[2] targets "target"
  (%10 : bf16[2, 3, 4, 4]) = cast(%0) "x" {dtype=6}
  (%11 : bf16[4, 3, 1, 1]) = cast(%1) "conv.weight" {dtype=6}
  (%5 : bf16[2, 4, 4, 4]) = conv2d(%10, %11, %2) "conv" {dilation=[1, 1], groups=1, kernel=[1, 1], padding=[0, 0], stride=[1, 1]}
  (%12 : bf16[5, 64]) = cast(%3) "fc.weight" {dtype=6}
  (%6 : f32[2, 5]) = linear(%5, %12, _) "fc" {f32_output=1}
  (%7 : f64[1], %8 : i64[1], %9 : f32[2, 5]) = cross_entropy(%6, %4) "loss" {scale=0.5}
  return %7, %8
})");
}

TEST(MixedPrecision, GradientsOfParametersAreF32WithoutACast) {
  Graph graph = parse_graph(kNet);
  mixed_precision(graph, DType::f16);
  autodiff(graph, {"conv.weight", "conv.bias", "fc.weight"});
  verify(graph);
  int gradients = 0;
  for (const Value& value : graph.values())
    if (value.role == Role::gradient) {
      EXPECT_EQ(value.type.dtype, DType::f32) << value.name;
      ++gradients;
    }
  EXPECT_EQ(gradients, 3);
  int casts = 0;
  for (const Node& node : graph.nodes()) casts += node.op == &cast_op;
  EXPECT_EQ(casts, 4);  // x, two weights, and the logits' gradient
}

TEST(MixedPrecision, RoundsASumThatAnOpReadsIn16Bits) {
  Graph graph = parse_graph(R"(
graph "net" {
  %0 : f32[2, 3] samples "x"
  %1 : f32[4, 3] parameter "a"
  %2 : f32[5, 4] parameter "b"
  (%3 : f32[2, 4]) = linear(%0, %1, _) "a"
  (%4 : f32[2, 5]) = linear(%3, %2, _) "b"
  return %3, %4
})");
  mixed_precision(graph, DType::bf16);
  verify(graph);
  EXPECT_EQ(graph.type(3).dtype, DType::bf16);
  EXPECT_EQ(graph.type(4).dtype, DType::f32);
  EXPECT_EQ(graph.outputs[1].id, 4u);
}

TEST(MixedPrecision, BatchNormKeepsItsStatisticsInF32) {
  Graph graph = parse_graph(R"(
graph "net" {
  %0 : f32[2, 4, 3, 3] samples "x"
  %1 : f32[4] parameter "bn.weight"
  %2 : f32[4] parameter "bn.bias"
  %3 : f32[4] buffer "bn.running_mean"
  %4 : f32[4] buffer "bn.running_var"
  %5 : i64[] buffer "bn.num_batches_tracked"
  (%6 : f32[2, 4, 3, 3], %7 : f32[4], %8 : f32[4]) = batch_norm2d(%0, %1, %2, %3, %4, %5, _) "bn" {eps=1e-05, momentum=0.1}
  return %6
})");
  mixed_precision(graph, DType::bf16);
  verify(graph);
  EXPECT_EQ(graph.type(6).dtype, DType::bf16);
  EXPECT_EQ(graph.type(7).dtype, DType::f32);
  EXPECT_EQ(graph.type(graph.outputs[0]).dtype, DType::f32);  // the network's output is cast back
  EXPECT_EQ(graph.nodes().size(), 3u);
}

TEST(AllowTf32, MarksProductsForwardAndBackwardAlone) {
  Graph graph = parse_graph(kNet);
  autodiff(graph, {"conv.weight", "conv.bias", "fc.weight"});
  allow_tf32(graph);
  for (const Node& node : graph.nodes())
    EXPECT_EQ(node.attributes.flag("tf32"), node.op->name.starts_with("conv2d") || node.op->name.starts_with("linear"))
        << node.op;
}

TEST(AllowTf32, MarksRecurrentLayersForwardAndBackward) {
  Graph graph = parse_graph(R"(
graph "net" {
  %0 : f32[2, 3, 4] samples "x"
  %1 : f32[20, 4] parameter "lstm.weight_ih"
  %2 : f32[20, 5] parameter "lstm.weight_hh"
  %3 : f32[3, 5] parameter "gru.weight_ih"
  %4 : f32[3, 1] parameter "gru.weight_hh"
  %5 : f32[2, 1] targets "target"
  (%6 : f32[2, 3, 5], %7 : f32[2, 5], %8 : f32[2, 5], %9 : f32[2, 3, 20], %10 : f32[2, 3, 5]) = lstm(%0, %1, %2, _, _, _, _) "lstm"
  (%11 : f32[2, 3, 1], %12 : f32[2, 1], %13 : f32[2, 3, 4]) = gru(%6, %3, %4, _, _, _) "gru"
  (%14 : f64[1]) = mean_squared_error(%12, %5) "loss" {scale=0.5}
  return %14
})");
  autodiff(graph, {"lstm.weight_ih", "lstm.weight_hh", "gru.weight_ih", "gru.weight_hh"});
  allow_tf32(graph);
  std::vector<std::string> marked;
  for (const Node& node : graph.nodes())
    if (node.attributes.flag("tf32")) marked.push_back(std::string(node.op->name));
  EXPECT_EQ(marked, (std::vector<std::string>{"lstm", "gru", "gru_gradient", "lstm_gradient"}));
}

// All casts of parameters are one launch before the first layer. Casts of activations stay in
// place.
TEST(FuseCasts, MakesThoseOfParametersOneNode) {
  Graph graph = parse_graph(R"(
graph "net" {
  %0 : f32[2, 3] samples "x"
  %1 : f32[4, 3] parameter "a"
  %2 : f32[5, 4] parameter "b"
  %3 : f32[5] parameter "c"
  (%4 : bf16[2, 3]) = cast(%0) "x" {dtype=6}
  (%5 : bf16[4, 3]) = cast(%1) "a" {dtype=6}
  (%6 : bf16[2, 4]) = linear(%4, %5, _) "a"
  (%7 : bf16[5, 4]) = cast(%2) "b" {dtype=6}
  (%8 : bf16[2, 5]) = linear(%6, %7, %3) "b"
  (%9 : f32[2, 5]) = cast(%8) "output" {dtype=1}
  return %9
})");
  fuse_casts(graph);
  verify(graph);
  EXPECT_GRAPH(graph, R"(
graph "net" {
  %0 : f32[2, 3] samples "x"
  %1 : f32[4, 3] parameter "a"
  %2 : f32[5, 4] parameter "b"
  %3 : f32[5] parameter "c"
  (%4 : bf16[2, 3]) = cast(%0) "x" {dtype=6}
  (%5 : bf16[4, 3], %7 : bf16[5, 4]) = cast_all(%1, %2) "parameters" {dtype=6}
  (%6 : bf16[2, 4]) = linear(%4, %5, _) "a"
  (%8 : bf16[2, 5]) = linear(%6, %7, %3) "b"
  (%9 : f32[2, 5]) = cast(%8) "output" {dtype=1}
  return %9
})");
}

}  // namespace
}  // namespace troika
