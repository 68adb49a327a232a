// Tests of unrolling: the sequence of micro-batches, the sums of their gradients, and messages
// between the ranks of a pipeline.
#include "parallel/unroll.h"

#include <gtest/gtest.h>

#include "parallel/layer_stages.h"
#include "passes/graph_text.h"
#include "passes/loss.h"
#include "passes/passes.h"
#include "passes/precision.h"
#include "support/throws.h"

namespace troika {
namespace {

// Returns a graph of one or two linear layers without bias, with the loss and the gradients.
Network network_of(int64_t samples, bool has_two = false, DType compute = DType::f32) {
  Graph graph("net");
  ValueId x = graph.add_value("x", {DType::f32, {samples, 3}}, Role::samples);
  std::vector<std::string> trainable = {"fc.weight"};
  if (has_two) {
    const ValueId w = graph.add_value("first.weight", {DType::f32, {3, 3}}, Role::parameter);
    x = append_node(graph, linear_op, "first", {x, w, kNoValue}, {{"relu", int64_t{0}}})[0];
    trainable.push_back("first.weight");
  }
  const ValueId w = graph.add_value("fc.weight", {DType::f32, {2, 3}}, Role::parameter);
  graph.outputs = {append_node(graph, linear_op, "fc", {x, w, kNoValue}, {{"relu", int64_t{0}}})[0]};
  append_loss(graph, {.kind = Loss::mean_squared_error, .scale = 0.25});
  if (compute != DType::f32) mixed_precision(graph, compute);
  const size_t forward_nodes = graph.nodes().size();
  autodiff(graph, trainable);
  return {graph, forward_nodes, {}};
}

TEST(Unroll, LeavesASingleNetworkAlone) {
  EXPECT_EQ(print_graph(unroll({network_of(4)}, in_turn(1))), print_graph(network_of(4).graph));
}

TEST(Unroll, RunsMicroBatchesInTurnAndAddsGradientsInPairs) {
  const Graph graph = unroll({network_of(2), network_of(1), network_of(1)}, in_turn(3));
  verify(graph);
  EXPECT_GRAPH(graph, R"(
graph "net" {
  %0 : f32[2, 3] samples "x/0"
  %1 : f32[2, 3] parameter "fc.weight"
  %3 : f32[2, 2] targets "target/0"
  %7 : f32[1, 3] samples "x/1"
  %9 : f32[1, 2] targets "target/1"
  %14 : f32[1, 3] samples "x/2"
  %16 : f32[1, 2] targets "target/2"
  (%2 : f32[2, 2]) = linear(%0, %1, _) "fc" {relu=0}
  (%4 : f64[1]) = mean_squared_error(%2, %3) "loss" {scale=0.25}
  (%5 : f32[2, 2]) = mean_squared_error_gradient(%2, %3) "loss" {scale=0.25}
  (%6 : f32[2, 3]) = linear_weight_gradient(%0, %5) "fc" {bias=0}
  (%8 : f32[1, 2]) = linear(%7, %1, _) "fc" {relu=0}
  (%10 : f64[1]) = mean_squared_error(%8, %9) "loss" {scale=0.25}
  (%11 : f32[1, 2]) = mean_squared_error_gradient(%8, %9) "loss" {scale=0.25}
  (%12 : f32[2, 3]) = linear_weight_gradient(%7, %11) "fc" {bias=0}
  (%13 : f32[2, 3]) = add(%6, %12) "fc"
  (%15 : f32[1, 2]) = linear(%14, %1, _) "fc" {relu=0}
  (%17 : f64[1]) = mean_squared_error(%15, %16) "loss" {scale=0.25}
  (%18 : f32[1, 2]) = mean_squared_error_gradient(%15, %16) "loss" {scale=0.25}
  (%19 : f32[2, 3]) = linear_weight_gradient(%14, %18) "fc" {bias=0}
  (%20 : f32[2, 3] gradient "fc.weight") = add(%13, %19) "fc"
  return loss %4, loss %10, loss %17
})");
}

TEST(Unroll, PausesBetweenForwardsAndBackwards) {
  for (int micro_batches : {1, 3}) {
    const std::vector<Network> networks(static_cast<size_t>(micro_batches), network_of(2));
    const Graph graph = unroll(networks, make_plain_schedule(1, micro_batches, 1)[0], 0, 1, true);
    verify(graph);
    int pauses = 0;
    for (const Node& node : graph.nodes()) {
      pauses += node.op == &pause_op;
      const bool is_forward = node.op == &linear_op || node.op == &mean_squared_error_op;
      EXPECT_EQ(pauses, is_forward ? 0 : 1) << node.op;
    }
    EXPECT_EQ(pauses, 1);
  }
}

TEST(Unroll, ComputesOnceWhatDependsOnParametersAlone) {
  const Network network = network_of(2, false, DType::bf16);
  const Graph graph = unroll({network, network, network}, in_turn(3));
  verify(graph);
  int casts = 0;
  for (const Node& node : graph.nodes())
    casts += node.op == &cast_op && graph.value(node.inputs[0]).role == Role::parameter;
  EXPECT_EQ(casts, 1);
}

TEST(Unroll, SendsWhatAnotherRankReads) {
  std::vector<Network> networks(2, network_of(2, true));
  for (Network& network : networks)
    for (const Node& node : network.graph.nodes()) network.stages.push_back(node.name == "first" ? 0 : 1);
  const PipelineTable table = make_pipeline_schedule(PipelineSchedule::gpipe, 2, 2, 1);
  const Graph first = unroll(networks, table[0], 0, 2), second = unroll(networks, table[1], 1, 2);
  verify(first);
  verify(second);
  EXPECT_GRAPH(first, R"(
graph "net" {
  %0 : f32[2, 3] samples "x/0"
  %1 : f32[3, 3] parameter "first.weight"
  %3 : f32[2, 3] samples "x/1"
  (%2 : f32[2, 3]) = linear(%0, %1, _) "first" {relu=0}
  () = send(%2) "first" {message=0, peer=1}
  (%4 : f32[2, 3]) = linear(%3, %1, _) "first" {relu=0}
  () = send(%4) "first" {message=2, peer=1}
  (%5 : f32[2, 3]) = receive() "first" {dtype=1, message=1, peer=1, shape=[2, 3]}
  (%6 : f32[3, 3]) = linear_weight_gradient(%0, %5) "first" {bias=0}
  (%7 : f32[2, 3]) = receive() "first" {dtype=1, message=3, peer=1, shape=[2, 3]}
  (%8 : f32[3, 3]) = linear_weight_gradient(%3, %7) "first" {bias=0}
  (%9 : f32[3, 3] gradient "first.weight") = add(%6, %8) "first"
  return
})");
  EXPECT_GRAPH(second, R"(
graph "net" {
  %1 : f32[2, 3] parameter "fc.weight"
  %3 : f32[2, 2] targets "target/0"
  %7 : f32[2, 2] targets "target/1"
  (%0 : f32[2, 3]) = receive() "fc" {dtype=1, message=0, peer=0, shape=[2, 3]}
  (%2 : f32[2, 2]) = linear(%0, %1, _) "fc" {relu=0}
  (%4 : f64[1]) = mean_squared_error(%2, %3) "loss" {scale=0.25}
  (%5 : f32[2, 3]) = receive() "fc" {dtype=1, message=2, peer=0, shape=[2, 3]}
  (%6 : f32[2, 2]) = linear(%5, %1, _) "fc" {relu=0}
  (%8 : f64[1]) = mean_squared_error(%6, %7) "loss" {scale=0.25}
  (%9 : f32[2, 2]) = mean_squared_error_gradient(%2, %3) "loss" {scale=0.25}
  (%10 : f32[2, 3]) = linear_weight_gradient(%0, %9) "fc" {bias=0}
  (%11 : f32[2, 3]) = linear_input_gradient(%1, %9) "fc" {input_shape=[2, 3]}
  () = send(%11) "fc" {message=1, peer=0}
  (%12 : f32[2, 2]) = mean_squared_error_gradient(%6, %7) "loss" {scale=0.25}
  (%13 : f32[2, 3]) = linear_weight_gradient(%5, %12) "fc" {bias=0}
  (%14 : f32[2, 3] gradient "fc.weight") = add(%10, %13) "fc"
  (%15 : f32[2, 3]) = linear_input_gradient(%1, %12) "fc" {input_shape=[2, 3]}
  () = send(%15) "fc" {message=3, peer=0}
  return loss %4, loss %8
})");
}

// The second layer is in the first stage, and the first layer in the second stage. No schedule can
// run this.
TEST(Unroll, RefusesValuesThatGoAgainstTheStream) {
  Network network = network_of(2, true);
  for (const Node& node : network.graph.nodes()) network.stages.push_back(node.name == "first" ? 1 : 0);
  EXPECT_THROWS(Status::internal, "layers: linear 'fc' of stage 0 reads what linear 'first' of stage 1 makes too late",
                unroll({network}, in_turn(1), 0, 2));
  // Stages in order for the forward pass, but a gradient that skips a stage on its way back.
  network.stages.clear();
  for (size_t i = 0; i < network.graph.nodes().size(); ++i)
    network.stages.push_back(i < network.forward_nodes ? network.graph.nodes()[i].name != "first"
                                                       : network.graph.nodes()[i].name == "first");
  EXPECT_THROWS(Status::internal, "of stage 1 reads what linear_input_gradient 'fc' of stage 0 makes too late",
                unroll({network}, in_turn(1), 0, 2));
}

}  // namespace
}  // namespace troika
