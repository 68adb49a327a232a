// The table of reference kernels, and graphs run by it.
#include "conformance/reference/reference.h"

#include "core/error.h"

namespace troika {

const ReferenceTable& reference_kernels() {
  static const ReferenceTable table = [] {
    ReferenceTable t;
    add_convolution_references(t);
    add_linear_references(t);
    add_batch_norm_references(t);
    add_pooling_references(t);
    add_elementwise_references(t);
    add_loss_references(t);
    add_optimizer_references(t);
    return t;
  }();
  return table;
}

void evaluate_reference(const Graph& graph, const Node& node, Values& values, bool rounds) {
  if (node.op == "all_reduce") return;
  const auto kernel = reference_kernels().find(node.op);
  if (kernel == reference_kernels().end())
    throw Error(Status::internal, "op '" + node.op + "' has no reference kernel");
  ReferenceInputs in;
  ReferenceOutputs out;
  for (ValueId id : node.inputs) in.push_back(id == kNoValue ? nullptr : &values[id]);
  for (ValueId id : node.outputs) {
    values[id] = Array(graph.type(id).shape);
    out.push_back(&values[id]);
  }
  kernel->second(node, in, out);
  if (!rounds) return;
  for (const auto* ids : {&node.inputs, &node.outputs})
    for (ValueId id : *ids)
      if (id != kNoValue && graph.type(id).dtype == DType::f32)
        for (double& v : values[id].data) v = static_cast<double>(static_cast<float>(v));
}

void evaluate_reference(const Graph& graph, Values& values, bool rounds) {
  values.resize(graph.values().size());
  for (const Node& node : graph.nodes()) evaluate_reference(graph, node, values, rounds);
}

}  // namespace troika
