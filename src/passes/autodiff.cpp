// autodiff: reverse-mode differentiation of the graph, op by op with each op's own gradient rule.
#include "core/error.h"
#include "core/text.h"
#include "passes/passes.h"

namespace troika {
namespace {

// Returns the samples as the network reads them: the upper left part, if the rest is cropped.
ValueId find_samples(const Graph& graph) {
  for (const Node& node : graph.nodes())
    if (node.op == &crop_op && graph.value(node.inputs[0]).role == Role::samples) return node.outputs[0];
  for (ValueId id = 0; id < graph.values().size(); ++id)
    if (graph.value(id).role == Role::samples) return id;
  throw Error(Status::internal, text("autodiff: graph '", graph.name(), "' has no samples"));
}

// Returns which values depend on a trainable parameter, or on `input` if it is a value: only their
// gradients are computed.
std::vector<bool> find_needs(const Graph& graph, const std::vector<std::string>& trainable, ValueId input) {
  std::vector<bool> needs(graph.values().size(), false);
  if (input != kNoValue) needs[input] = true;
  for (const std::string& name : trainable) {
    const auto id = graph.find(name);
    if (!id)
      throw Error(Status::internal, text("autodiff: parameter '", name, "' is not in graph '", graph.name(), "'"));
    needs[*id] = true;
  }
  for (const Node& node : graph.nodes()) {
    bool any = false;
    for (ValueId id : node.inputs) any = any || (id != kNoValue && needs[id]);
    if (any)
      for (ValueId id : node.outputs) needs[id] = true;
  }
  return needs;
}

}  // namespace

void autodiff(Graph& graph, const std::vector<std::string>& trainable, bool of_inputs) {
  const ValueId input = of_inputs ? find_samples(graph) : kNoValue;
  const std::vector<bool> needs = find_needs(graph, trainable, input);
  GradientBuilder builder(graph);
  builder.set_needs(needs);
  // The contributions to the gradient of each forward value. Their sum is complete when the walk
  // reaches the value's maker.
  std::vector<ValueId> gradient(graph.values().size(), kNoValue);
  auto contribute = [&](ValueId value, ValueId addend) {
    if (addend == kNoValue || !builder.needs(value)) return;
    gradient[value] = gradient[value] == kNoValue
                          ? addend
                          : append_node(graph, add_op, graph.value(value).name, {gradient[value], addend})[0];
  };

  const ValueId loss = graph.outputs.at(0);
  const size_t forward_nodes = graph.nodes().size();
  for (size_t i = forward_nodes; i-- > 0;) {
    const Node node = graph.nodes()[i];  // a copy: appending moves the nodes
    std::vector<ValueId> output_gradients;
    bool is_reached = false, is_needed = false;
    for (ValueId id : node.outputs) {
      output_gradients.push_back(gradient[id]);
      // the rule of a loss makes the first gradient itself
      is_reached = is_reached || gradient[id] != kNoValue || id == loss;
    }
    for (ValueId id : node.inputs) is_needed = is_needed || (id != kNoValue && needs[id]);
    if (!is_reached || !is_needed) continue;
    const OpDef& op = *node.op;
    if (!op.gradient) throw Error(Status::unsupported, text(node.op, " '", node.name, "' has no gradient"));
    const std::vector<ValueId> input_gradients = op.gradient(builder, node, output_gradients);
    for (size_t k = 0; k < node.inputs.size(); ++k)
      if (node.inputs[k] != kNoValue) contribute(node.inputs[k], input_gradients[k]);
  }

  for (const std::string& name : trainable) {
    const ValueId parameter = *graph.find(name);
    if (gradient[parameter] == kNoValue)
      throw Error(Status::invalid_argument,
                  text("parameter '", name, "' does not reach the loss; freeze it with a parameter group"));
    Value& value = graph.value(gradient[parameter]);
    if (value.role != Role::activation)
      throw Error(Status::internal, text("parameter '", name, "' shares its gradient"));
    value.role = Role::gradient;
    value.name = name;
  }
  if (!of_inputs) return;
  if (gradient[input] == kNoValue)
    throw Error(Status::unsupported, text("model '", graph.name(), "': the input does not reach the output"));
  graph.outputs.push_back({gradient[input], Report::input_gradient});
}

}  // namespace troika
