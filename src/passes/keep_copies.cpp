// keep_copies: the node that casts all parameters to 16 bits (fuse_casts) runs before the first
// step alone. From then on the update writes each parameter twice, in f32 and in 16 bits. A launch
// that reads all parameters falls away.
#include <algorithm>
#include <map>

#include "ops/update.h"
#include "passes/optimizer.h"
#include "passes/passes.h"

namespace troika {
namespace {

bool casts_parameters(const Graph& graph, const Node& node) {
  return node.op == &cast_all_op && graph.value(node.inputs[0]).role == Role::parameter;
}

// Whether the node has the operands of ops/update.h, and changes parameters.
bool updates_parameters(const Node& node) {
  return node.op->as<UpdateOp>() && node.outputs.empty() && node.attributes.has("row");
}

}  // namespace

void keep_copies(Graph& graph) {
  std::map<ValueId, ValueId> copies;  // by parameter
  DType dtype = DType::f32;
  for (const Node& node : graph.nodes()) {
    if (!casts_parameters(graph, node)) continue;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      Value& copy = graph.value(node.outputs[i]);
      copy.role = Role::copy;
      copy.name = slot_name("copy", graph.value(node.inputs[i]).name);
      dtype = copy.type.dtype;
      copies.emplace(node.inputs[i], node.outputs[i]);
    }
  }
  if (copies.empty()) return;
  // The launch that is left out comes first: all others are one recording.
  std::stable_partition(graph.nodes().begin(), graph.nodes().end(),
                        [&](const Node& node) { return casts_parameters(graph, node); });
  // Parameters that no node casts get copies, too, so that the runs of an update stay long.
  for (Node& node : graph.nodes()) {
    if (!updates_parameters(node)) continue;
    const UpdateOperands operands(node);
    std::vector<ValueId> inputs(node.inputs.begin(), node.inputs.begin() + update::first_parameter);
    for (size_t k = 0; k < operands.parameters(); ++k) {
      const ValueId parameter = node.inputs[operands.parameter(k)];
      const auto [found, is_new] = copies.try_emplace(parameter, kNoValue);
      if (is_new) {
        const Value& value = graph.value(parameter);
        found->second = graph.add_value(slot_name("copy", value.name), {dtype, value.type.shape}, Role::copy);
      }
      const auto begin = node.inputs.begin() + static_cast<ptrdiff_t>(operands.parameter(k));
      inputs.insert(inputs.end(), begin, begin + 2);  // the parameter and its gradient
      inputs.push_back(found->second);
      inputs.insert(inputs.end(), begin + 2, begin + static_cast<ptrdiff_t>(operands.each()));
    }
    node.inputs = std::move(inputs);
    node.attributes.set("copies", int64_t{1});
  }
}

}  // namespace troika
