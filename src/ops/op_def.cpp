// The list of ops, shape inference and the verifier that uses it.
#include "ops/op_def.h"

#include "core/error.h"
#include "core/text.h"

namespace troika {

std::string_view name_of(const OpDef& op) { return op.name; }

const std::vector<const OpDef*>& all_ops() {
  static const std::vector<const OpDef*> ops = {
#define TROIKA_OP(name) &name##_op,
#include "ops/ops.def"
#undef TROIKA_OP
  };
  return ops;
}

const OpDef* find_op(std::string_view name) {
  for (const OpDef* op : all_ops())
    if (op->name == name) return op;
  return nullptr;
}

const OpDef& op_named(std::string_view name) {
  if (const OpDef* op = find_op(name)) return *op;
  throw Error(Status::internal, text("op '", name, "' is not in ops.def"));
}

bool OpDef::has_product() const {
  if (const auto* layer = as<LayerOp>()) return layer->has_product;
  if (const auto* backward = as<GradientOp>()) return backward->has_product;
  return false;
}

const LowPrecision& OpDef::low() const {
  static const LowPrecision none;
  if (const auto* layer = as<LayerOp>()) return layer->low;
  if (const auto* collective = as<CollectiveOp>()) return collective->low;
  return none;
}

namespace {

// As messages name a node: "conv2d 'stem'", or an op alone, which has no name, "conv2d".
std::string named(const OpDef& op, const std::string& name) {
  return name.empty() ? std::string(op.name) : text(&op, " '", name, "'");
}

}  // namespace

void OpInputs::fail(const std::string& message) const {
  throw Error(Status::invalid_argument, text(named(*node.op, node.name), ": ", message));
}

void OpInputs::need_inputs(size_t least, size_t most) const {
  if (node.inputs.size() < least || node.inputs.size() > most)
    fail(text("has ", node.inputs.size(), " inputs, needs ", least, least == most ? "" : text(" to ", most)));
}

void OpInputs::need_rank(size_t i, int rank, const char* what) const {
  if (types[i].shape.rank() != rank) fail(text("input has shape ", types[i].shape, ", needs ", what));
}

namespace {

OpInputs inputs_of(const Graph& graph, const Node& node) {
  OpInputs inputs{node, {}};
  for (ValueId id : node.inputs) inputs.types.push_back(id == kNoValue ? TensorType{} : graph.type(id));
  return inputs;
}

}  // namespace

std::vector<TensorType> infer_types(const Graph& graph, const Node& node) {
  return node.op->infer(inputs_of(graph, node));
}

Cost cost_of(const Graph& graph, const Node& node) {
  const OpDef& op = *node.op;
  Cost cost;
  if (op.cost) cost = op.cost(inputs_of(graph, node));
  for (ValueId id : node.outputs) {
    const TensorType& type = graph.type(id);
    if (!op.cost) cost.operations += static_cast<double>(type.shape.elements());
    const auto bytes = static_cast<double>(type.bytes());
    (is_state(graph.value(id).role) ? cost.state_bytes : cost.bytes) += bytes;
  }
  for (ValueId id : node.inputs) {
    if (id == kNoValue) continue;
    const Role role = graph.value(id).role;
    const bool is_written = !op.mutates.empty() && is_state(role) && role != Role::gradient;
    (is_state(role) ? cost.state_bytes : cost.bytes) +=
        static_cast<double>(graph.type(id).bytes()) * (is_written ? 2 : 1);
  }
  return cost;
}

std::vector<ValueId> append_node(Graph& graph, const OpDef& op, const std::string& name, std::vector<ValueId> inputs,
                                 Attributes attributes) {
  Node node{&op, name, std::move(inputs), {}, std::move(attributes)};
  for (TensorType& type : infer_types(graph, node)) {
    checked_elements(type.shape, named(op, name));
    node.outputs.push_back(graph.add_value("", std::move(type)));
  }
  return graph.add_node(std::move(node)).outputs;
}

void verify(const Graph& graph) {
  verify_structure(graph);
  for (const Node& node : graph.nodes()) {
    const std::vector<TensorType> types = infer_types(graph, node);
    if (types.size() != node.outputs.size())
      throw Error(Status::internal, text(node.op, " '", node.name, "' has ", node.outputs.size(),
                                         " outputs, its rule returns ", types.size()));
    for (size_t i = 0; i < types.size(); ++i)
      if (!(types[i] == graph.type(node.outputs[i])))
        throw Error(Status::internal, text(node.op, " '", node.name, "': output ", i, " has shape ",
                                           graph.type(node.outputs[i]).shape, ", its rule returns ", types[i].shape));
  }
}

}  // namespace troika
