// The table of reference kernels, and graphs run by it.
#include "conformance/reference/reference.h"

#include "core/error.h"
#include "core/float16.h"
#include "ops/op_def.h"

namespace troika {

const ReferenceTable& reference_kernels() {
  static const ReferenceTable table = [] {
    ReferenceTable t;
    add_convolution_references(t);
    add_linear_references(t);
    add_embedding_references(t);
    add_batch_norm_references(t);
    add_pooling_references(t);
    add_elementwise_references(t);
    add_pointwise_references(t);
    add_arithmetic_references(t);
    add_row_references(t);
    add_loss_references(t);
    add_recurrent_references(t);
    add_optimizer_references(t);
    return t;
  }();
  return table;
}

void evaluate_reference(const Graph& graph, const Node& node, Values& values, bool rounds) {
  if (node.op == &all_reduce_op || node.op == &pause_op) return;
  const auto kernel = reference_kernels().find(std::string(node.op->name));
  if (kernel == reference_kernels().end())
    throw Error(Status::internal, "op '" + std::string(node.op->name) + "' has no reference kernel");
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
      if (id != kNoValue)
        for (double& v : values[id].data) v = as_held(v, graph.type(id).dtype);
}

double as_held(double value, DType dtype) {
  const float single = static_cast<float>(value);
  switch (dtype) {
    case DType::f32: return static_cast<double>(single);
    case DType::bf16: return static_cast<double>(float_of_bf16(bf16_of_float(single)));
    case DType::f16: return static_cast<double>(float_of_f16(f16_of_float(single)));
    default: return value;
  }
}

void evaluate_reference(const Graph& graph, Values& values, bool rounds) {
  values.resize(graph.values().size());
  for (const Node& node : graph.nodes()) evaluate_reference(graph, node, values, rounds);
}

}  // namespace troika
