// fuse_casts: one launch casts all parameters of a step to 16 bits.
#include <map>

#include "passes/passes.h"

namespace troika {
namespace {

bool is_cast_of_parameter(const Graph& graph, const Node& node) {
  return node.op == &cast_op && node.inputs.size() == 1 && graph.value(node.inputs[0]).role == Role::parameter;
}

}  // namespace

void fuse_casts(Graph& graph) {
  std::map<int64_t, Node> casts;  // by the type that they return
  for (const Node& node : graph.nodes()) {
    if (!is_cast_of_parameter(graph, node)) continue;
    const auto [found, is_first] = casts.try_emplace(node.attributes.integer("dtype"), node);
    if (is_first) {
      found->second.op = &cast_all_op;
      found->second.name = "parameters";
      continue;
    }
    found->second.inputs.push_back(node.inputs[0]);
    found->second.outputs.push_back(node.outputs[0]);
  }
  std::vector<Node> nodes = std::move(graph.nodes());
  graph.nodes().clear();
  for (Node& node : nodes) {
    if (!is_cast_of_parameter(graph, node)) {
      graph.add_node(std::move(node));
      continue;
    }
    auto all = casts.extract(node.attributes.integer("dtype"));  // empty after the first
    if (!all.empty()) graph.add_node(std::move(all.mapped()));
  }
}

}  // namespace troika
