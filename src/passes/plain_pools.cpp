// plain_pools: a pooled image that linear layers alone read, as at the end of a small CNN. A linear
// layer reads it as its features follow each other in the weights, channel by channel, while a GPU
// stores other images channels last. The convolution writes what the layer reads, and its gradients
// read what the layer's gradient writes: no pass changes the layout between them.
#include <algorithm>

#include "ops/fused_pool.h"
#include "ops/linear_cross_entropy.h"
#include "ops/op_def.h"
#include "passes/links.h"
#include "passes/passes.h"

namespace troika {
namespace {

bool reads_linearly(const Node& node, ValueId id) {
  static_assert(product::x == weight_gradient::x && product::x == linear_cross_entropy::x);
  return (node.op == &linear_op || node.op == &linear_weight_gradient_op || node.op == &linear_cross_entropy_op) &&
         std::count(node.inputs.begin(), node.inputs.end(), id) == 1 && node.inputs[product::x] == id;
}

bool makes_linearly(const Node* node) {
  return node && (node->op == &linear_input_gradient_op || node->op == &linear_cross_entropy_op);
}

}  // namespace

void plain_pools(Graph& graph) {
  const Links links(graph);
  for (Node& conv2d : graph.nodes()) {
    if (conv2d.op != &conv2d_op || fused_pool_of(conv2d) == FusedPool::none) continue;
    const std::vector<Node*>& readers = links.readers(conv2d.outputs[product::y]);
    const std::vector<Node*>& gradients = links.readers(conv2d.outputs[product::mask]);
    const bool all_read = std::all_of(readers.begin(), readers.end(), [&](const Node* node) {
      return reads_linearly(*node, conv2d.outputs[product::y]);
    });
    const auto dy_of = [](const Node& node) {
      return node
          .inputs[node.op == &conv2d_weight_gradient_op ? size_t{weight_gradient::dy} : size_t{input_gradient::dy}];
    };
    const bool all_made = std::all_of(gradients.begin(), gradients.end(),
                                      [&](const Node* node) { return makes_linearly(links.maker(dy_of(*node))); });
    if (readers.empty() || !all_read || !all_made) continue;
    conv2d.attributes.set("plain_pool", int64_t{1});
    for (Node* node : gradients) node->attributes.set("plain_pool", int64_t{1});
  }
}

}  // namespace troika
