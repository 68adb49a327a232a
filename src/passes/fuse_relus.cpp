// fuse_relus: a pooling after a ReLU, as in LeNet. The gradient of the pooling applies that of the
// ReLU: saves two of four memory passes, and a launch.
#include "ops/relu.h"
#include "passes/passes.h"

namespace troika {
namespace {

bool is_pool_gradient(const Node& node) {
  return node.op == &max_pool2d_gradient_op || node.op == &avg_pool2d_gradient_op ||
         node.op == &adaptive_avg_pool2d_gradient_op;
}

}  // namespace

void fuse_relus(Graph& graph) {
  const auto uses = count_uses(graph);
  std::vector<const Node*> pools(graph.values().size(), nullptr);  // the pooling's gradient that makes each value
  for (const Node& node : graph.nodes())
    if (is_pool_gradient(node) && uses[node.outputs[0]] == 1) pools[node.outputs[0]] = &node;

  // A fused node stands at the later of the two places, after the makers of all inputs.
  std::vector<Node> nodes;
  std::vector<bool> is_gone(graph.values().size(), false);  // gradients that only a ReLU's gradient reads
  for (const Node& node : graph.nodes()) {
    nodes.push_back(node);
    if (node.op != &relu_gradient_op || !pools[node.inputs[relu_gradient::dy]]) continue;
    const Node& pool = *pools[node.inputs[relu_gradient::dy]];
    if (graph.type(node.inputs[relu_gradient::y]) != graph.type(pool.outputs[0])) continue;
    is_gone[pool.outputs[0]] = true;
    nodes.back() = pool;
    nodes.back().inputs.push_back(node.inputs[relu_gradient::y]);
    nodes.back().outputs = node.outputs;
  }
  std::erase_if(nodes, [&](const Node& node) { return is_pool_gradient(node) && is_gone[node.outputs[0]]; });
  graph.nodes() = std::move(nodes);
}

}  // namespace troika
