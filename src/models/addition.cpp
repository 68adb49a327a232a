// Checks first; then the layer's values, nodes and parameters, all or none.
#include "models/addition.h"

#include <algorithm>

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

Addition::Addition(Model& model, const char* op, const std::string& name, const char* kind)
    : model_(model),
      graph_(model.graph_),
      layers_(model.layers_),
      parameters_(*model.parameters_),
      op_(op),
      name_(name),
      kind_(kind ? kind : op) {
  check_layer_name(kind_, name);
  if (!find_layer_kind(kind_)) throw Error(Status::internal, text("models/layer_kinds.cpp lacks the layer ", kind_));
  if (model.is_complete())
    fail_layer(kind_, name, text("model '", model.name(), "' is complete, no layer can be added"));
  if (layers_.contains(name)) fail_layer(kind_, name, "the name is taken by another layer");
}

const Shape& Addition::input(ValueId value) {
  input_of_tokens(value);
  if (const DType found = graph_.type(value).dtype; found != DType::f32)
    fail_layer(kind_, name_, text("input is ", name_of(found), ", needs f32; an embedding takes tokens"));
  return graph_.type(value).shape;
}

void Addition::input_of_tokens(ValueId value) {
  if (!layers_.is_output(value))
    fail_layer(kind_, name_, text("value ", value, " is not an output of model '", graph_.name(), "'"));
  inputs_.push_back({value, {}, false});
}

int64_t Addition::axis(int64_t axis) const {
  const Shape& x = graph_.type(inputs_.back().id).shape;
  const int64_t found = axis < 0 ? axis + x.rank() : axis;
  if (found < 1 || found >= x.rank())
    fail_layer(kind_, name_,
               text("axis is ", axis, ", input has shape ", x, ", needs 1 to ", x.rank() - 1, " (0 is the batch)"));
  return found;
}

void Addition::dropout_counter() {
  const ValueId id = model_.dropout_counter_;
  const bool is_new = id == kNoValue;
  inputs_.push_back({id, is_new ? Value{"dropout_counter", {DType::i64, {2}}, Role::counter} : Value{}, is_new});
  has_counter_ = true;
}

ValueId Addition::commit(const Attributes& attributes, std::string description, Attributes settings) {
  return commit_nodes(
      [&](Graph& graph, const std::vector<ValueId>& inputs) {
        return append_node(graph, op_named(op_), name_, inputs, attributes)[0];
      },
      std::move(description), std::move(settings));
}

ValueId Addition::commit_nodes(const Append& append, std::string description, Attributes settings) {
  for (const auto& [name, value] : sharing_.items()) settings.set(name, value);
  for (const SharedName& shared : parameters_.shared_names())
    if (shared.name.substr(0, shared.name.rfind('.')) == name_ &&
        std::find(taken_names_.begin(), taken_names_.end(), shared.name) == taken_names_.end())
      fail_layer(kind_, name_, text("has no parameter '", shared.name, "', which is to be shared"));
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
    parameters_.mark_taken(taken_names_);
    if (has_counter_) model_.dropout_counter_ = inputs.back();
    return output;
  } catch (...) {
    graph_.truncate(values, nodes);
    parameters_.truncate(entries);
    throw;
  }
}

void Addition::state(const char* suffix, TensorType type, Role role) {
  const std::string name = text(name_, '.', suffix);
  if (parameters_.contains(name)) {
    if (role != Role::parameter) fail_layer(kind_, name_, text("'", name, "' is a buffer, which cannot be shared"));
    return shared_parameter(name, suffix, type);
  }
  inputs_.push_back({kNoValue, {name, std::move(type), role}, true});
}

void Addition::shared_parameter(const std::string& name, const char* suffix, const TensorType& type) {
  const Parameter& of = parameters_.entry(parameters_.index_of(name));
  if (of.type != type)
    fail_layer(kind_, name_,
               text("parameter '", name, "' needs shape ", type.shape, ", but shares '", of.name, "' of shape ",
                    of.type.shape));
  inputs_.push_back({graph_.find(of.name).value(), {}, false});
  sharing_.set(text(kSharedSetting, suffix), of.name);
  taken_names_.push_back(name);
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
  try {
    append(alone, inputs);
  } catch (const Error& e) {  // names the op, such as "join_steps 'both': ..."
    const std::string message = e.what(), named = text(" '", name_, "'");
    const size_t at = message.find(named);
    throw at == std::string::npos ? e : Error(e.status(), kind_ + message.substr(at));
  }
  for (const Input& in : inputs_) {
    if (!in.is_new) continue;
    const int64_t elements = checked_elements(in.value.type.shape, text(kind_, " '", name_, "': ", in.value.name));
    if (in.value.role == Role::parameter) layer.parameters += elements;
  }
  if (const int64_t total = layers_.parameters() + layer.parameters; total > kMaxParameters)
    fail_layer(kind_, name_, text("the model would have ", total, " parameters, may have at most ", kMaxParameters));
}

}  // namespace troika
