// Checks first; then the layer's values, nodes and parameters, all or none.
#include "models/addition.h"

#include "core/error.h"
#include "core/text.h"
#include "core/utf8.h"
#include "models/layer_kinds.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// so that ".num_batches_tracked" after it still fits in the public struct's 256
constexpr size_t kMaxNameBytes = 200;
constexpr int64_t kMaxParameters = int64_t{1} << 60;

}  // namespace

void fail_layer(const std::string& op, const std::string& name, const std::string& message) {
  throw Error(Status::invalid_argument, text(op, " '", name, "': ", message));
}

void check_layer_name(const std::string& op, const std::string& name) {
  auto refuse = [&](const std::string& message) { throw Error(Status::invalid_argument, text(op, ": ", message)); };
  if (name.empty()) refuse("name is empty");
  if (name.size() > kMaxNameBytes) refuse(text("name has ", name.size(), " bytes, may have at most ", kMaxNameBytes));
  for (size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    if (c < 0x20 || c == 0x7F) refuse(text("name has a control character at byte ", i));
  }
  // In patterns and in lists of names these characters mean something else.
  if (const size_t at = name.find_first_of("*?,"); at != std::string::npos)
    refuse(text("name '", name, "' has a '", name[at], "', which patterns and lists of names use"));
  if (name.find('/') != std::string::npos) refuse(text("name '", name, "' has a '/', needs dots between its parts"));
  if (name.front() == '.' || name.back() == '.' || name.find("..") != std::string::npos)
    refuse(text("name '", name, "' has an empty part, needs text around every dot"));
}

std::string refusal_of_model_name(const std::string& name) {
  if (name.empty() || name.size() > kMaxNameBytes)
    return text("has ", name.size(), " bytes, needs 1 to ", kMaxNameBytes);
  return printable(name) == name ? "" : "has a control character";
}

Addition::Addition(Graph& graph, LayerList& layers, ParameterStore& parameters, const char* op, const std::string& name,
                   const char* kind)
    : graph_(graph), layers_(layers), parameters_(parameters), op_(op), name_(name), kind_(kind ? kind : op) {
  check_layer_name(op, name);
  if (!find_layer_kind(kind_)) throw Error(Status::internal, text("models/layer_kinds.cpp lacks the layer ", kind_));
  if (!graph.outputs.empty())
    fail_layer(op, name, text("model '", graph.name(), "' is complete, no layer can be added"));
  if (layers.contains(name)) fail_layer(op, name, "the name is taken by another layer");
}

const Shape& Addition::input(ValueId value, DType dtype) {
  if (!layers_.is_output(value))
    fail_layer(op_, name_, text("value ", value, " is not an output of model '", graph_.name(), "'"));
  if (const DType found = graph_.type(value).dtype; found != dtype)
    fail_layer(op_, name_,
               text("input is ", name_of(found), ", needs ", name_of(dtype),
                    found == DType::i32 ? "; an embedding takes tokens" : ""));
  inputs_.push_back({value, {}, false});
  return graph_.type(value).shape;
}

void Addition::shared_input(const char* name, TensorType type, Role role, ValueId& id) {
  const bool is_new = id == kNoValue;
  inputs_.push_back({id, is_new ? Value{name, std::move(type), role} : Value{}, is_new});
  if (is_new) shared_id_ = &id;
}

ValueId Addition::commit(const Attributes& attributes, std::string description, Attributes settings) {
  return commit_nodes(
      [&](Graph& graph, const std::vector<ValueId>& inputs) {
        return append_node(graph, op_named(op_), name_, inputs, attributes)[0];
      },
      std::move(description), std::move(settings));
}

ValueId Addition::commit_nodes(const Append& append, std::string description, Attributes settings) {
  Layer layer{.name = name_, .kind = kind_, .description = std::move(description), .settings = std::move(settings)};
  for (const Input& in : inputs_)
    if (!in.is_new && layers_.is_output(in.id)) layer.inputs.push_back(in.id);
  check(append, layer);
  const size_t values = graph_.values().size(), nodes = graph_.nodes().size(), entries = parameters_.size();
  try {
    std::vector<Parameter> parameters;
    std::vector<ValueId> inputs;
    for (const Input& in : inputs_) {
      inputs.push_back(in.is_new ? graph_.add_value(in.value.name, in.value.type, in.value.role) : in.id);
      if (in.is_new && is_state(in.value.role))
        parameters.push_back({in.value.name, in.value.type, in.value.role == Role::buffer, false, {}});
    }
    const ValueId output = layer.output = append(graph_, inputs);
    for (size_t i = nodes; i < graph_.nodes().size(); ++i)
      if (const Node& node = graph_.nodes()[i]; !node.op->is_view)
        layer.operations += cost_of(graph_, node).operations;  // of one sample: the graph's batch is 1
    parameters_.add(std::move(parameters));
    layers_.add(std::move(layer));
    if (shared_id_) *shared_id_ = inputs.back();
    return output;
  } catch (...) {
    graph_.truncate(values, nodes);
    parameters_.truncate(entries);
    throw;
  }
}

void Addition::state(const char* suffix, TensorType type, Role role) {
  inputs_.push_back({kNoValue, {text(name_, '.', suffix), std::move(type), role}, true});
}

void Addition::check(const Append& append, Layer& layer) const {
  Graph alone;
  std::vector<ValueId> inputs;
  for (const Input& in : inputs_) {
    if (in.is_new)
      inputs.push_back(alone.add_value("", in.value.type, in.value.role));
    else
      inputs.push_back(in.id == kNoValue ? kNoValue : alone.add_value("", graph_.type(in.id), Role::input));
  }
  append(alone, inputs);
  for (const Input& in : inputs_) {
    if (!in.is_new) continue;
    const int64_t elements = checked_elements(in.value.type.shape, text(op_, " '", name_, "': ", in.value.name));
    if (in.value.role == Role::parameter) layer.parameters += elements;
  }
  if (const int64_t total = layers_.parameters() + layer.parameters; total > kMaxParameters)
    fail_layer(op_, name_, text("the model would have ", total, " parameters, may have at most ", kMaxParameters));
}

}  // namespace troika
