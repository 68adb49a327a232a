// zero_biases: a bias before batch_norm2d changes nothing, because the mean subtracts it again. The
// gradient that batch_norm2d returns sums to 0 over each channel (over all ranks, if they share
// statistics), and this sum is the bias's gradient. One launch sets all such gradients to 0.
// Otherwise each convolution would read its dy once more, only to find rounding errors.
#include <algorithm>

#include "ops/products.h"
#include "passes/passes.h"

namespace troika {

void zero_biases(Graph& graph) {
  std::vector<char> adds_up_to_0(graph.values().size(), 0);
  for (const Node& node : graph.nodes())
    if (node.op == &batch_norm2d_gradient_op) adds_up_to_0[node.outputs[0]] = 1;

  Node zeros;
  zeros.op = &fill_all_op;
  zeros.name = "biases";
  std::vector<int64_t> sizes;
  for (Node& node : graph.nodes()) {
    if (node.op != &conv2d_weight_gradient_op || !node.attributes.flag("bias") ||
        !adds_up_to_0[node.inputs[weight_gradient::dy]])
      continue;
    const ValueId bias = node.outputs[weight_gradient::dbias];
    node.outputs.pop_back();
    node.attributes.set("bias", int64_t{0});
    zeros.outputs.push_back(bias);
    sizes.push_back(graph.type(bias).shape[0]);
  }
  if (sizes.empty()) return;
  zeros.attributes = {{"value", 0.0}, {"sizes", sizes}};
  // As late as possible: until the backward pass, gradients of the step before may be in use.
  const auto reads_zeros = [&](const Node& node) {
    return std::find_first_of(node.inputs.begin(), node.inputs.end(), zeros.outputs.begin(), zeros.outputs.end()) !=
           node.inputs.end();
  };
  std::vector<Node>& nodes = graph.nodes();
  nodes.insert(std::find_if(nodes.begin(), nodes.end(), reads_zeros), std::move(zeros));
}

}  // namespace troika
