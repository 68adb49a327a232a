// to_inference: the network in evaluation mode.
#include "passes/passes.h"

namespace troika {

void to_inference(Graph& graph) {
  std::vector<ValueId> stands_for(graph.values().size());
  for (ValueId id = 0; id < stands_for.size(); ++id) stands_for[id] = id;
  std::vector<Node> kept;
  for (Node& node : graph.nodes()) {
    for (ValueId& id : node.inputs)
      if (id != kNoValue) id = stands_for[id];
    const auto* const layer = node.op->as<LayerOp>();
    const InferenceForm form = layer ? layer->inference.value : InferenceForm{};
    if (form.kind == InferenceForm::pass_input_on) {
      stands_for[node.outputs[0]] = node.inputs[0];
      continue;
    }
    if (form.kind == InferenceForm::other_op) {
      node.op = form.op;
      node.outputs.resize(1);
    }
    kept.push_back(std::move(node));
  }
  graph.nodes() = std::move(kept);
  for (Output& output : graph.outputs) output.id = stands_for[output.id];
}

}  // namespace troika
