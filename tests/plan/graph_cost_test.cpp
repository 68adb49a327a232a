// Tests of the costs of nodes, messages and sums, and of lifetimes.
#include "plan/graph_cost.h"

#include <gtest/gtest.h>

#include "ops/op_def.h"
#include "plan/memory_plan.h"

namespace troika {
namespace {

constexpr Machine kMachine{4, 0, 1e6, 1e3, 1e3, 0.5};

// The graph x [16] -> y -> z -> a view of z, which is the output. Each value has 64 bytes.
struct Chain {
  Graph graph{"chain"};
  Chain() {
    ValueId id = graph.add_value("x", {DType::f32, {1, 16}}, Role::input);
    id = append_node(graph, relu_op, "y", {id})[0];
    id = append_node(graph, relu_op, "z", {id})[0];
    graph.outputs = {append_node(graph, reshape_op, "view", {id}, {{"shape", std::vector<int64_t>{4, 4}}})[0]};
  }
};

TEST(NodeSeconds, AreOfOperationsOrOfMemoryWhicheverTakesLonger) {
  const Chain chain;
  const Node& relu = chain.graph.nodes()[0];
  EXPECT_DOUBLE_EQ(node_seconds(chain.graph, relu, kMachine), (64 + 64) / 1e3);
  Machine slow = kMachine;
  slow.operations = 10;
  EXPECT_DOUBLE_EQ(node_seconds(chain.graph, relu, slow), 16 / 10.0);
  EXPECT_EQ(node_seconds(chain.graph, chain.graph.nodes()[2], kMachine), 0) << "a view";
}

TEST(NodeSeconds, CountStateThatIsWrittenTwice) {
  Graph graph("update");
  const TensorType type{DType::f32, {100}};
  const ValueId settings = graph.add_value("settings", {DType::f32, {1, 4}}, Role::input);
  const ValueId parameter = graph.add_value("w", type, Role::parameter);
  const ValueId gradient =
      append_node(graph, fill_op, "w", {}, {{"value", 0.0}, {"shape", std::vector<int64_t>{100}}})[0];
  graph.value(gradient).role = Role::gradient;
  const ValueId momentum = graph.add_value("w", type, Role::optimizer_state);
  append_node(graph, sgd_update_op, "sgd",
              {settings, kNoValue, kNoValue, kNoValue, kNoValue, parameter, gradient, momentum},
              {{"row", int64_t{0}}, {"slots", int64_t{1}}});
  EXPECT_DOUBLE_EQ(node_seconds(graph, graph.nodes().back(), kMachine), (16 + 5 * 400) / 1e3);
}

TEST(MessageSeconds, AreLatencyAndBandwidth) { EXPECT_DOUBLE_EQ(message_seconds(250, kMachine), 0.5 + 0.25); }

TEST(SumSeconds, AreThoseOfHalvingAndDoubling) {
  EXPECT_EQ(sum_seconds(1000, 1, kMachine), 0);
  EXPECT_DOUBLE_EQ(sum_seconds(1000, 2, kMachine), 2 * (0.5 + 0.5));
  EXPECT_DOUBLE_EQ(sum_seconds(1000, 4, kMachine), 4 * 0.5 + 6 * 0.25);
  EXPECT_DOUBLE_EQ(sum_seconds(1000, 5, kMachine), 6 * 0.5 + 8 * 0.2) << "three rounds, the last not full";
  EXPECT_DOUBLE_EQ(sum_seconds(2048, 2048, kMachine), 22 * 0.5 + 2 * 2.047);
}

TEST(SumSeconds, AreThoseOfANodeAndOfTheNetwork) {
  Machine nodes = kMachine;
  nodes.devices_per_node = 4;
  nodes.node_bandwidth = 100;
  nodes.node_latency = 2;
  const double within = 4 * 0.5 + 6 * 0.25;
  EXPECT_DOUBLE_EQ(sum_seconds(1000, 4, nodes), within) << "one node";
  EXPECT_DOUBLE_EQ(sum_seconds(1000, 8, nodes), within + 2 * 2 + 2 * 1000 / 2 / 100.0);
  EXPECT_DOUBLE_EQ(sum_seconds(1200, 12, nodes), 4 * 0.5 + 6 * 0.3 + 4 * 2 + 2 * 800 / 100.0)
      << "three nodes, two rounds";
  nodes.devices_per_node = 1;
  EXPECT_DOUBLE_EQ(sum_seconds(1000, 2, nodes), 2 * 2 + 2 * 1000 / 2 / 100.0) << "only the network";
}

TEST(ActivationBytes, AreThoseThatLiveTogether) {
  Chain chain;
  EXPECT_EQ(activation_bytes(chain.graph), 2u * kArenaAlignment);    // z uses the memory of x; a view has none
  chain.graph.outputs.push_back(chain.graph.nodes()[0].outputs[0]);  // y lives to the end
  EXPECT_EQ(activation_bytes(chain.graph), 2u * kArenaAlignment);
  chain.graph.outputs.push_back(0);  // and so does x
  EXPECT_EQ(activation_bytes(chain.graph), 3u * kArenaAlignment);
}

}  // namespace
}  // namespace troika
