// zero_biases: a bias in front of batch_norm2d changes nothing, as the mean takes it out again: what batch_norm2d gives back
// adds up to 0 over each channel (over all ranks where they share statistics), and that sum is the bias's gradient. It is set to 0
// by one launch, where each convolution would read its dy once more to find rounding errors.
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
  std::vector<Node> nodes = std::move(graph.nodes());
  graph.nodes().clear();
  graph.add_node(std::move(zeros));  // in front of the first sum over ranks
  for (Node& node : nodes) graph.add_node(std::move(node));
}

}  // namespace troika
