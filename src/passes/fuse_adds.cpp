// fuse_adds: where a value has two readers, the sum of the gradients that they give rides in the pass of
// batch_norm2d_gradient that reads it: two of the sum's three accesses to memory are spared.
#include "passes/passes.h"

namespace troika {
namespace {

constexpr size_t kGradient = 5, kMore = 8;  // inputs of batch_norm2d_gradient

// Of statistics over several ranks the sums' op gives dz, and no pass is left that could.
bool can_add(const Node& node) { return node.op == "batch_norm2d_gradient" && node.inputs.size() == kGradient + 1; }

}  // namespace

void fuse_adds(Graph& graph) {
  const auto uses = count_uses(graph);
  std::vector<const Node*> adds(graph.values().size(), nullptr);  // that make each value
  for (const Node& node : graph.nodes())
    if (node.op == "add" && !node.attributes.flag("relu") && uses[node.outputs[0]] == 1) adds[node.outputs[0]] = &node;

  std::vector<Node> nodes;
  std::vector<bool> is_gone(graph.values().size(), false);  // sums that are made in a batch_norm2d_gradient
  for (const Node& node : graph.nodes()) {
    nodes.push_back(node);
    if (!can_add(node) || !adds[node.inputs[kGradient]]) continue;
    const Node& add = *adds[node.inputs[kGradient]];
    Node& fused = nodes.back();
    fused.inputs.resize(kMore + 1, kNoValue);
    fused.inputs[kGradient] = add.inputs[0];
    fused.inputs[kMore] = add.inputs[1];
    is_gone[add.outputs[0]] = true;
    if (fused.attributes.flag("residual")) continue;
    // dx is made of the sum, which is kept as dz.
    fused.attributes.set("residual", int64_t{1});
    fused.outputs.push_back(graph.add_value("", graph.type(add.outputs[0])));
    is_gone.push_back(false);
  }
  std::erase_if(nodes, [&](const Node& node) { return node.op == "add" && is_gone[node.outputs[0]]; });
  graph.nodes() = std::move(nodes);
}

}  // namespace troika
