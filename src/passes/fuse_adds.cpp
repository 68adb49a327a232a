// fuse_adds: a value with two readers gets two gradients. Adds them inside batch_norm2d_gradient,
// which reads the sum anyway: saves two of three memory passes.
#include "ops/batch_norm2d.h"
#include "passes/passes.h"

namespace troika {
namespace {

using batch_norm2d_gradient::addend, batch_norm2d_gradient::dy;

// With statistics over several ranks, the op of the sums computes dz, and no pass is left that
// could add.
bool can_add(const Node& node) { return node.op == &batch_norm2d_gradient_op && node.inputs.size() == dy + 1; }

}  // namespace

void fuse_adds(Graph& graph) {
  const auto uses = count_uses(graph);
  std::vector<const Node*> adds(graph.values().size(), nullptr);  // the add that makes each value
  for (const Node& node : graph.nodes())
    if (node.op == &add_op && !node.attributes.flag("relu") && uses[node.outputs[0]] == 1)
      adds[node.outputs[0]] = &node;

  std::vector<Node> nodes;
  std::vector<bool> is_gone(graph.values().size(), false);  // sums that a batch_norm2d_gradient computes
  for (const Node& node : graph.nodes()) {
    nodes.push_back(node);
    if (!can_add(node) || !adds[node.inputs[dy]]) continue;
    const Node& add = *adds[node.inputs[dy]];
    Node& fused = nodes.back();
    fused.inputs.resize(batch_norm2d_gradient::kInputs, kNoValue);
    fused.inputs[dy] = add.inputs[0];
    fused.inputs[addend] = add.inputs[1];
    is_gone[add.outputs[0]] = true;
    if (fused.attributes.flag("residual")) continue;
    // dx is computed from the sum, which is kept as dz.
    fused.attributes.set("residual", int64_t{1});
    fused.outputs.push_back(graph.add_value("", graph.type(add.outputs[0])));
    is_gone.push_back(false);
  }
  std::erase_if(nodes, [&](const Node& node) { return node.op == &add_op && is_gone[node.outputs[0]]; });
  graph.nodes() = std::move(nodes);
}

}  // namespace troika
