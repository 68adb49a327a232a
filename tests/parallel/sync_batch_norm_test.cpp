// Tests of SyncBatchNorm as a pass: the sums that ranks exchange in the forward pass and in the
// backward pass.
#include "parallel/sync_batch_norm.h"

#include <gtest/gtest.h>

#include "passes/graph_text.h"
#include "passes/loss.h"
#include "passes/passes.h"
#include "support/throws.h"

namespace troika {
namespace {

constexpr const char* kModel = R"(
graph "net" {
  %0 : f32[2, 3, 4, 4] samples "x"
  %1 : f32[3] parameter "bn.weight"
  %2 : f32[3] parameter "bn.bias"
  %3 : f32[3] buffer "bn.running_mean"
  %4 : f32[3] buffer "bn.running_var"
  %5 : i64[] buffer "bn.num_batches_tracked"
  (%6 : f32[2, 3, 4, 4], %7 : f32[3], %8 : f32[3]) = batch_norm2d(%0, %1, %2, %3, %4, %5, _) "bn" {eps=1e-05, momentum=0.1, relu=1}
  (%9 : f32[2, 48]) = reshape(%6) "flatten" {shape=[-1]}
  return %9
})";

Network synchronized() {
  Network network{parse_graph(kModel), 0, {}};
  sync_batch_norm(network.graph, 1, 2);
  append_loss(network.graph, {.kind = Loss::mean_squared_error, .scale = 0.5});
  network.forward_nodes = network.graph.nodes().size();
  autodiff(network.graph, {"bn.weight", "bn.bias"});
  verify(network.graph);
  return network;
}

TEST(SyncBatchNormPass, SumsMomentsForwardAndGradientsBackward) {
  EXPECT_GRAPH(synchronized().graph, R"(
graph "net" {
  %0 : f32[2, 3, 4, 4] samples "x"
  %1 : f32[3] parameter "bn.weight"
  %2 : f32[3] parameter "bn.bias"
  %3 : f32[3] buffer "bn.running_mean"
  %4 : f32[3] buffer "bn.running_var"
  %5 : i64[] buffer "bn.num_batches_tracked"
  %12 : f32[2, 48] targets "target"
  (%10 : f32[2, 7]) = batch_norm2d_moments(%0) "bn" {rank=1, ranks=2}
  (%11 : f32[2, 7]) = data_sum(%10) "bn"
  (%6 : f32[2, 3, 4, 4], %7 : f32[3], %8 : f32[3]) = batch_norm2d(%0, %1, %2, %3, %4, %5, _, %11) "bn" {eps=1e-05, momentum=0.1, relu=1}
  (%9 : f32[2, 48]) = reshape(%6) "flatten" {shape=[-1]}
  (%13 : f64[1]) = mean_squared_error(%9, %12) "loss" {scale=0.5}
  (%14 : f32[2, 48]) = mean_squared_error_gradient(%9, %12) "loss" {scale=0.5}
  (%15 : f32[2, 3, 4, 4]) = reshape(%14) "flatten" {shape=[3, 4, 4]}
  (%16 : f32[7]) = batch_norm2d_gradient_sums(%0, %7, %6, %15) "bn" {relu=1, residual=0}
  (%17 : f32[7]) = data_sum(%16) "bn"
  (%18 : f32[2, 3, 4, 4], %19 : f32[3] gradient "bn.weight", %20 : f32[3] gradient "bn.bias") = batch_norm2d_gradient(%0, %1, %7, %8, %6, %15, %16, %17) "bn" {relu=1, residual=0}
  return loss %13
})");
}

TEST(SyncBatchNormPass, OfARankWithoutSamplesIsSumsOfZeros) {
  const Network idle = idle_network(synchronized());
  verify(idle.graph);
  EXPECT_GRAPH(idle.graph, R"(
graph "net" {
  %0 : f32[3] parameter "bn.weight"
  %1 : f32[3] parameter "bn.bias"
  (%2 : f32[2, 7]) = fill() "bn" {shape=[2, 7], value=0.0}
  (%3 : f32[2, 7]) = data_sum(%2) "bn"
  (%4 : f32[7]) = fill() "bn" {shape=[7], value=0.0}
  (%5 : f32[7]) = data_sum(%4) "bn"
  (%6 : f32[3] gradient "bn.weight") = fill() "bn" {shape=[3], value=-0.0}
  (%7 : f32[3] gradient "bn.bias") = fill() "bn" {shape=[3], value=-0.0}
  return
})");
  EXPECT_EQ(idle.forward_nodes, 2u);
}

TEST(SyncBatchNormPass, NeedsSeveralValuesOnAllRanks) {
  const Graph graph = parse_graph(R"(
graph "net" {
  %0 : f32[1, 3, 1, 1] samples "x"
  %1 : f32[3] parameter "bn.weight"
  %2 : f32[3] parameter "bn.bias"
  (%3 : f32[1, 3, 1, 1], %4 : f32[3], %5 : f32[3]) = batch_norm2d(%0, %1, %2, _, _, _, _) "bn" {eps=1e-05, momentum=0.1, relu=0}
  return %3
})");
  require_several_values(graph, 2);
  EXPECT_THROWS(Status::invalid_argument, "batch_norm2d 'bn': training needs more than 1 value a channel",
                require_several_values(graph, 1));
}

}  // namespace
}  // namespace troika
