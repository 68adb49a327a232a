// Tests of splitting by channel: the graph of a rank, what it holds, and what cannot be split.
#include "parallel/channel_split.h"

#include <gtest/gtest.h>

#include "models/zoo.h"
#include "ops/op_def.h"
#include "passes/graph_text.h"
#include "passes/passes.h"
#include "support/throws.h"

namespace troika {
namespace {

int count(const Graph& graph, const std::string& op) {
  int found = 0;
  for (const Node& node : graph.nodes()) found += node.op == op;
  return found;
}

std::vector<std::string> parameters_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const Value& value : graph.values())
    if (value.role == Role::parameter) names.push_back(value.name);
  return names;
}

TEST(ChannelSplit, GoesByColumnThenByRow) {
  const auto model = create_model("mlp", {.classes = 3, .hidden = 5});
  const ChannelSplit split(model->graph(), 2);
  EXPECT_GRAPH(split.apply(model->graph(), 0), R"(
graph "mlp" {
  %0 : f32[1, 1, 28, 28] input "x"
  %3 : f32[3, 784] parameter "fc1.weight"
  %4 : f32[3] parameter "fc1.bias"
  %7 : f32[3, 3] parameter "fc2.weight"
  %8 : f32[3] parameter "fc2.bias"
  (%1 : f32[1, 784]) = reshape(%0) "flatten" {shape=[-1]}
  (%2 : f32[1, 784]) = channel_copy(%1) "fc1"
  (%5 : f32[1, 3]) = linear(%2, %3, %4) "fc1"
  (%6 : f32[1, 3]) = relu(%5) "relu"
  (%9 : f32[1, 3]) = linear(%6, %7, %8) "fc2"
  (%10 : f32[1, 3]) = channel_sum(%9) "fc2"
  return %10
})");
  EXPECT_GRAPH(split.apply(model->graph(), 1), R"(
graph "mlp" {
  %0 : f32[1, 1, 28, 28] input "x"
  %3 : f32[2, 784] parameter "fc1.weight"
  %4 : f32[2] parameter "fc1.bias"
  %7 : f32[3, 2] parameter "fc2.weight"
  (%1 : f32[1, 784]) = reshape(%0) "flatten" {shape=[-1]}
  (%2 : f32[1, 784]) = channel_copy(%1) "fc1"
  (%5 : f32[1, 2]) = linear(%2, %3, %4) "fc1"
  (%6 : f32[1, 2]) = relu(%5) "relu"
  (%8 : f32[1, 3]) = linear(%6, %7, _) "fc2"
  (%9 : f32[1, 3]) = channel_sum(%8) "fc2"
  return %9
})");
}

TEST(ChannelSplit, NeedsOneSumForwardAndOneBackwardABlockOfAResNet) {
  const auto model = create_model("d2l_resnet18", {});
  const ChannelSplit split(model->graph(), 4);
  Graph graph = split.apply(model->graph(), 1);
  verify(graph);
  // Nine of the 17 convolutions go by row; three shortcuts' outputs and fc's are made in parts and read whole.
  EXPECT_EQ(count(graph, "channel_sum"), 9);
  EXPECT_EQ(count(graph, "channel_gather"), 3 + 1);
  append_loss(graph, Loss::cross_entropy, 1);
  const int forward = count(graph, "channel_sum");
  autodiff(graph, parameters_of(graph));
  verify(graph);
  EXPECT_EQ(count(graph, "channel_sum") - forward, 8 + 1);  // those that go by column, a shortcut with its block; fc
}

TEST(ChannelSplit, CutsEveryParameterOnce) {
  for (const char* name : {"d2l_lenet", "d2l_resnet18", "resnet50", "mlp"})
    for (int ranks : {2, 3, 4}) {
      const auto model = create_model(name, {});
      const ChannelSplit split(model->graph(), ranks);
      for (const Value& value : model->graph().values()) {
        if (!is_state(value.role)) continue;
        int64_t next = 0;
        int whole = 0, holders = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          const StateSlice& slice = split.slice_of(value.name, rank);
          holders += slice.is_held;
          if (!slice.is_held) continue;
          if (slice.axis < 0) {
            ++whole;
            continue;
          }
          EXPECT_EQ(slice.range.begin, next) << value.name;
          EXPECT_GT(slice.range.size(), 0) << value.name;
          next = slice.range.end;
          if (rank + 1 == ranks) {
            EXPECT_EQ(next, value.type.shape[slice.axis]) << value.name;
          }
        }
        EXPECT_TRUE(whole == 0 ? holders == ranks : whole == holders) << value.name;
      }
      for (int rank = 0; rank < ranks; ++rank) {  // and each rank's graph has just what it holds
        const Graph graph = split.apply(model->graph(), rank);
        verify(graph);
        for (const Value& value : graph.values())
          EXPECT_TRUE(!is_state(value.role) || split.slice_of(value.name, rank).is_held) << value.name;
      }
    }
}

TEST(ChannelSplit, RefusesMoreRanksThanChannels) {
  const auto model = create_model("mlp", {.hidden = 9});
  EXPECT_THROWS(Status::invalid_argument, "linear 'fc1' has 9 output channels, cannot be split over 16 devices",
                ChannelSplit(model->graph(), 16));
}

}  // namespace
}  // namespace troika
