// absorb_biases: batch_norm2d subtracts the mean of its input, and with it any bias that a
// convolution has added. So the bias is not added at all, and is counted only in the mean that
// batch_norm2d tracks. The convolution then needs no pass of its own for the bias, nor one of the
// few engines that add it.
#include <map>

#include "ops/batch_norm2d.h"
#include "ops/products.h"
#include "passes/passes.h"

namespace troika {
namespace {

// The outputs are the same whatever is added to each channel of input 0, except the mean that is
// returned or tracked.
bool takes_mean_away(const Node& node) {
  return node.op == &batch_norm2d_op || node.op == &batch_norm2d_moments_op || node.op == &batch_norm2d_gradient_op ||
         node.op == &batch_norm2d_gradient_sums_op;
}

}  // namespace

void absorb_biases(Graph& graph) {
  std::vector<std::vector<size_t>> readers(graph.values().size());
  std::vector<char> may_lack(graph.values().size(), 1);
  for (ValueId id : graph.outputs) may_lack[id] = 0;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      if (node.inputs[k] == kNoValue) continue;
      readers[node.inputs[k]].push_back(i);
      if (k != 0 || !takes_mean_away(node)) may_lack[node.inputs[k]] = 0;
    }
  }
  // Decides per layer, not per node: a recomputed convolution is normalised with the mean of the
  // original one, so both must omit the bias or neither.
  std::map<std::string, bool> can_leave;
  for (const Node& node : graph.nodes())
    if (node.op == &conv2d_op) {
      const bool can =
          node.inputs[product::bias] != kNoValue && !node.attributes.flag("relu") && may_lack[node.outputs[0]];
      const auto [layer, is_first] = can_leave.emplace(node.name, can);
      layer->second = layer->second && can;
    }
  for (Node& node : graph.nodes()) {
    if (node.op != &conv2d_op || !can_leave.at(node.name)) continue;
    for (size_t i : readers[node.outputs[0]]) {
      Node& reader = graph.nodes()[i];
      if (reader.op != &batch_norm2d_op) continue;
      reader.inputs.resize(batch_norm2d::kInputs, kNoValue);
      reader.inputs[batch_norm2d::absorbed_bias] = node.inputs[product::bias];
    }
    node.inputs[product::bias] = kNoValue;
  }
}

}  // namespace troika
