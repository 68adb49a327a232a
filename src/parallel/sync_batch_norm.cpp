// Moments and their sum before each batch_norm2d, and parts that consist only of sums.
#include "parallel/sync_batch_norm.h"

#include "core/error.h"
#include "core/text.h"
#include "ops/batch_norm2d.h"
#include "ops/op_def.h"

namespace troika {

void sync_batch_norm(Graph& graph, int rank, int ranks) {
  std::vector<Node> nodes = std::move(graph.nodes());
  graph.nodes().clear();
  for (Node& node : nodes) {
    if (node.op == &batch_norm2d_op) {
      const ValueId own = append_node(graph, batch_norm2d_moments_op, node.name, {node.inputs[batch_norm2d::x]},
                                      {{"rank", int64_t{rank}}, {"ranks", int64_t{ranks}}})[0];
      node.inputs.resize(batch_norm2d::moments + 1, kNoValue);
      node.inputs[batch_norm2d::moments] = append_node(graph, data_sum_op, node.name, {own})[0];
    }
    graph.add_node(std::move(node));
  }
}

void require_several_values(const Graph& graph, int64_t samples) {
  for (const Node& node : graph.nodes()) {
    if (node.op != &batch_norm2d_op) continue;
    const Shape& x = graph.type(node.inputs[batch_norm2d::x]).shape;
    if (samples * x[2] * x[3] == 1)
      throw Error(Status::invalid_argument, text("batch_norm2d '", node.name,
                                                 "': training needs more than 1 value a channel, all devices together",
                                                 " have 1 of ", x, "; use a larger batch or fewer micro-batches"));
  }
}

Network idle_network(const Network& network) {
  const Graph& graph = network.graph;
  Network idle{Graph(graph.name()), 0, {}};
  std::vector<ValueId> new_ids(graph.values().size(), kNoValue);
  auto add_zeros = [&](ValueId id, const std::string& layer, double zero) {
    const Value& value = graph.value(id);
    return append_node(idle.graph, fill_op, layer, {}, {{"shape", value.type.shape.dims()}, {"value", zero}})[0];
  };
  for (const Value& value : graph.values())
    if (value.role == Role::parameter) idle.graph.add_value(value.name, value.type, value.role);
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (i == network.forward_nodes) idle.forward_nodes = idle.graph.nodes().size();
    if (node.op == &data_sum_op) {
      const ValueId zeros = add_zeros(node.inputs[0], node.name, 0.0);
      append_node(idle.graph, *node.op, node.name, {zeros});
    }
    for (ValueId id : node.outputs) {
      if (graph.value(id).role != Role::gradient) continue;
      const ValueId gradient = add_zeros(id, node.name, -0.0);
      idle.graph.value(gradient).role = Role::gradient;
      idle.graph.value(gradient).name = graph.value(id).name;
    }
    if (!network.stages.empty()) idle.stages.resize(idle.graph.nodes().size(), network.stages[i]);
  }
  return idle;
}

}  // namespace troika
