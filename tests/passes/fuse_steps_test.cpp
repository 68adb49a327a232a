// Tests of fuse_steps: stacked recurrent layers without joins between them, which run part by part.
#include <gtest/gtest.h>

#include "core/text.h"
#include "models/layers.h"
#include "passes/graph_text.h"
#include "passes/loss.h"
#include "passes/passes.h"
#include "passes/recompute.h"

namespace troika {
namespace {

// Returns the nodes in order, such as "lstm1 lstm2 ...": the layer of lstm and gru nodes, the op of
// other nodes.
std::string order_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes())
    names.push_back(node.op == &lstm_op || node.op == &gru_op ? node.name : std::string(node.op->name));
  return join(names, " ");
}

Graph fused(const Model& model) {
  Graph graph = model.graph();
  fuse(graph);
  verify(graph);
  return graph;
}

TEST(FuseSteps, RunsLayersOnTopOfEachOtherSideBySide) {
  Model model("net");
  ValueId x = add_lstm(model, "a", model.add_input("x", {4, 3}), 5, true);
  x = add_gru(model, "c", add_lstm(model, "b", x, 6, true), 2, true);
  model.set_output(add_select_step(model, "last", x, -1));
  EXPECT_EQ(order_of(fused(model)), "slice_channels a b c slice_channels a b c slice_channels reshape");
}

TEST(FuseSteps, HandsEachPartToTheNextLayerAsItIsMade) {
  Model model("net");
  const ValueId y = add_lstm(model, "a", model.add_input("x", {4, 3}), 1, false);
  model.set_output(add_select_step(model, "last", add_lstm(model, "b", y, 1, false), -1));
  EXPECT_GRAPH(fused(model), R"(
graph "net" {
  %0 : f32[1, 4, 3] samples "x"
  %1 : f32[4, 3] parameter "a.weight_ih_l0"
  %2 : f32[4, 1] parameter "a.weight_hh_l0"
  %16 : f32[4, 1] parameter "b.weight_ih_l0"
  %17 : f32[4, 1] parameter "b.weight_hh_l0"
  (%3 : f32[1, 2, 3]) = slice_channels(%0) "a" {begin=0, end=2}
  (%4 : f32[1, 2, 1], %5 : f32[1, 1], %6 : f32[1, 1], %7 : f32[1, 2, 4], %8 : f32[1, 2, 1]) = lstm(%3, %1, %2, _, _, _, _) "a"
  (%20 : f32[1, 2, 1], %21 : f32[1, 1], %22 : f32[1, 1], %23 : f32[1, 2, 4], %24 : f32[1, 2, 1]) = lstm(%4, %16, %17, _, _, _, _) "b"
  (%9 : f32[1, 2, 3]) = slice_channels(%0) "a" {begin=2, end=4}
  (%10 : f32[1, 2, 1], %11 : f32[1, 1], %12 : f32[1, 1], %13 : f32[1, 2, 4], %14 : f32[1, 2, 1]) = lstm(%9, %1, %2, _, _, %5, %6) "a"
  (%25 : f32[1, 2, 1], %26 : f32[1, 1], %27 : f32[1, 1], %28 : f32[1, 2, 4], %29 : f32[1, 2, 1]) = lstm(%10, %16, %17, _, _, %21, %22) "b"
  (%31 : f32[1, 1, 1]) = slice_channels(%25) "last" {begin=1, end=2}
  (%32 : f32[1, 1]) = reshape(%31) "last" {shape=[1]}
  return %32
})");
}

TEST(FuseSteps, TakesAStepFromThePartThatHasIt) {
  Model model("net");
  const ValueId y = add_lstm(model, "a", model.add_input("x", {10, 3}), 5, true);  // 4, 3 and 3 steps
  model.set_output(add_select_step(model, "fifth", y, 5));
  const Graph graph = fused(model);
  EXPECT_EQ(order_of(graph), "slice_channels a slice_channels a slice_channels reshape")
      << "the third part is not read";
  const Node& select = graph.nodes()[4];
  EXPECT_EQ(select.inputs[0], graph.nodes()[3].outputs[0]);
  EXPECT_EQ(select.attributes.integer("begin"), 1);
  EXPECT_EQ(select.attributes.integer("end"), 2);
}

TEST(FuseSteps, KeepsAJoinThatSomethingElseReads) {
  Model model("net");
  const ValueId y = add_lstm(model, "a", model.add_input("x", {4, 3}), 5, true);
  model.set_output(add_sum(model, "sum", y, add_lstm(model, "b", y, 5, true)));
  EXPECT_EQ(order_of(fused(model)), "slice_channels a b slice_channels a b join_steps join_steps add");
}

TEST(FuseSteps, LeavesASplitIntoOtherPartsAlone) {
  const std::string graph = R"(
graph "net" {
  %0 : f32[2, 3, 4] samples "x"
  %1 : f32[2, 1, 4] input "y"
  (%2 : f32[2, 4, 4]) = join_steps(%0, %1) "join"
  (%3 : f32[2, 2, 4], %4 : f32[2, 2, 4]) = split_steps(%2) "split" {steps=[2, 2]}
  (%5 : f32[2, 2, 4]) = slice_channels(%2) "slice" {begin=2, end=4}
  return %3, %4, %5
})";
  Graph left = parse_graph(graph);
  const std::string before = print_graph(left);
  fuse(left);
  EXPECT_EQ(print_graph(left), before);
}

TEST(FuseSteps, ChangesNothingTheSecondTime) {
  Model model("net");
  const ValueId x = add_lstm(model, "a", model.add_input("x", {9, 3}), 5, true);
  model.set_output(add_select_step(model, "last", add_lstm(model, "b", x, 6, true), -1));
  Graph graph = fused(model);
  const std::string once = print_graph(graph);
  fuse(graph);
  EXPECT_EQ(print_graph(graph), once);
}

// If parts are dropped, the states between them are kept. Each part is recomputed right before its
// own backward node.
TEST(FuseSteps, LetsRecomputeMakeOnePartOfAllLayersAgainAtATime) {
  Model model("net");
  const ValueId x = add_lstm(model, "a", model.add_input("x", {10, 3}), 5, true);
  model.set_output(add_select_step(model, "last", add_lstm(model, "b", x, 6, true), -1));
  Graph graph = fused(model);
  const size_t forward = graph.nodes().size();
  append_loss(graph, {.kind = Loss::mean_squared_error, .scale = 1.0});
  std::vector<std::string> trainable;
  for (const Value& value : graph.values())
    if (value.role == Role::parameter) trainable.push_back(value.name);
  autodiff(graph, trainable);
  const Dropped dropped = drop_layers(graph, {"a", "b"});
  for (size_t i = 0; i < forward; ++i) {
    const Node& node = graph.nodes()[i];
    if (node.op != &lstm_op) continue;
    for (size_t k = 0; k < node.outputs.size(); ++k)
      EXPECT_EQ(dropped[node.outputs[k]], k != 1 && k != 2) << node.name << ", output " << k;
  }
  recompute(graph, dropped);
  verify(graph);
  std::string order;
  for (size_t i = forward; i < graph.nodes().size(); ++i)
    if (graph.nodes()[i].op->name.starts_with("lstm"))
      order += graph.nodes()[i].name + (graph.nodes()[i].op == &lstm_op ? " " : "' ");
  EXPECT_EQ(order, "a b b' a' a b b' a' a b b' a' ");
}

}  // namespace
}  // namespace troika
