// Tests of the choice of recomputed values: bytes by liveness, and the least work that fits a
// budget.
#include "plan/recompute_choice.h"

#include <gtest/gtest.h>

#include "core/text.h"
#include "models/zoo.h"
#include "passes/loss.h"
#include "passes/passes.h"
#include "plan/graph_cost.h"
#include "support/throws.h"

namespace troika {
namespace {

Graph training_graph(const std::string& model_name, int64_t batch) {
  const auto model = create_model(model_name, {});
  Graph graph = rebatch(model->graph(), batch);
  append_loss(graph, {.kind = Loss::cross_entropy, .scale = 1.0});
  fuse(graph);
  std::vector<std::string> trainable;
  for (const Value& value : graph.values())
    if (value.role == Role::parameter) trainable.push_back(value.name);
  autodiff(graph, trainable);
  return graph;
}

Graph with(Graph graph, const Dropped& dropped) {
  recompute(graph, dropped);
  verify(graph);
  return graph;
}

Graph within(const Graph& graph, size_t budget_bytes) {
  RecomputeSettings settings;
  settings.budget_bytes = static_cast<int64_t>(budget_bytes);
  return with(graph, choose_dropped(graph, settings));
}

double operations(const Graph& graph) {
  double sum = 0;
  for (const Node& node : graph.nodes()) sum += cost_of(graph, node).operations;
  return sum;
}

TEST(ActivationBytes, CountsAValueFromItsMakerToItsLastReader) {
  // %2 is live together with the inputs and %4, so that %4 needs its own memory. %5 uses the memory
  // of %2. The view %6 is %5.
  const Graph graph = parse_graph(R"(
graph "net" {
  %0 : f32[16, 4] samples "x"
  %1 : f32[4, 4] parameter "w"
  (%2 : f32[16, 4]) = relu(%0) "a"
  (%4 : f32[16, 4]) = relu(%2) "b"
  (%5 : f32[16, 4]) = linear(%4, %1, _) "c"
  (%6 : f32[16, 2, 2]) = reshape(%5) "d" {shape=[2, 2]}
  return %6
})");
  EXPECT_EQ(activation_bytes(graph), 2u * 16 * 4 * 4) << "never more than a node's input and output at once";
}

TEST(ActivationBytes, KeepsOutputsToTheEnd) {
  const Graph graph = parse_graph(R"(
graph "net" {
  %0 : f32[16, 4] samples "x"
  (%1 : f32[16, 4]) = relu(%0) "a"
  (%2 : f32[16, 4]) = relu(%1) "b"
  (%3 : f32[16, 4]) = relu(%2) "c"
  return %1, %3
})");
  EXPECT_EQ(activation_bytes(graph), 3u * 16 * 4 * 4);
}

TEST(ChooseDropped, DropsNothingWhereEverythingFits) {
  const Graph graph = training_graph("d2l_resnet18", 8);
  EXPECT_EQ(print_graph(within(graph, activation_bytes(graph))), print_graph(graph));
}

TEST(ChooseDropped, RepeatsNoConvolutionWhereCheapLayersAreEnough) {
  const Graph graph = training_graph("d2l_resnet18", 8);
  const Graph chosen = within(graph, activation_bytes(with(graph, drop_cheap(graph))));
  EXPECT_EQ(print_graph(chosen), print_graph(with(graph, drop_cheap(graph))));
  EXPECT_LT(activation_bytes(chosen), activation_bytes(graph));
}

TEST(ChooseDropped, FitsAnyBudgetWithNoMoreWorkThanASmallerOneTakes) {
  const Graph graph = training_graph("resnet50", 4);
  const size_t whole = activation_bytes(graph);
  double most = 0;
  for (int percent : {90, 80, 70, 60, 50, 45}) {
    const size_t budget = whole / 100 * static_cast<size_t>(percent);
    const Graph chosen = within(graph, budget);
    EXPECT_LE(activation_bytes(chosen), budget) << percent << " %";
    EXPECT_GE(operations(chosen), most) << percent << " %";
    most = operations(chosen);
  }
  EXPECT_LT(most, 4.0 / 3 * operations(graph)) << "less than a forward pass more";
}

TEST(ChooseDropped, SaysHowMuchTheBestChoiceNeeds) {
  const Graph graph = training_graph("d2l_lenet", 8);
  std::string message;
  try {
    within(graph, 1000);
  } catch (const Error& e) {
    EXPECT_EQ(e.status(), Status::out_of_memory);
    message = e.what();
  }
  EXPECT_EQ(message.find("model 'd2l_lenet': activations of a batch of 8 need at least "), 0u) << message;
  EXPECT_NE(message.find("activation_budget_bytes is 1000; allow more, or use a smaller batch"), std::string::npos);
  const size_t needed = std::stoul(message.substr(message.find("at least ") + 9));
  EXPECT_EQ(activation_bytes(within(graph, needed)), needed);
  EXPECT_THROWS(Status::out_of_memory, "need at least", within(graph, needed - 1));
}

TEST(ChooseDropped, AddsUpSegmentsAndLayers) {
  const Graph graph = training_graph("d2l_resnet18", 8);
  const Dropped segments = drop_segments(graph, 3), layers = drop_layers(graph, {"*.bn1"}),
                both = choose_dropped(graph, {3, {"*.bn1"}, 0});
  for (size_t i = 0; i < both.size(); ++i) EXPECT_EQ(both[i], segments[i] || layers[i]) << i;
  EXPECT_NE(both, segments);
  EXPECT_NE(both, layers);
}

TEST(ChooseDropped, KeepsWhatItIsToldTo) {
  const Graph graph = training_graph("d2l_resnet18", 8);
  const Dropped all = choose_dropped(graph, {3, {}, 0});
  std::vector<bool> kept(graph.values().size(), false);
  size_t first = 0;
  while (!all[first]) ++first;
  kept[first] = true;
  Dropped expected = all;
  expected[first] = false;
  EXPECT_EQ(choose_dropped(graph, {3, {}, 0}, kept), expected);
  kept.assign(kept.size(), true);
  RecomputeSettings budget;
  budget.budget_bytes = static_cast<int64_t>(activation_bytes(graph)) - 1;
  EXPECT_NO_THROW(choose_dropped(graph, budget));
  EXPECT_THROWS(Status::out_of_memory, "(nothing computed again)", choose_dropped(graph, budget, kept));
}

}  // namespace
}  // namespace troika
