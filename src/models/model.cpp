// Layer calls: each checks everything first, then appends its values, its node and its parameters.
#include "models/model.h"

#include <cmath>

#include "core/error.h"
#include "core/random.h"
#include "core/text.h"
#include "models/layer_text.h"

namespace troika {
namespace {

constexpr size_t kMaxNameBytes = 200;  // with ".num_batches_tracked" behind it, it fits the public struct's 256
constexpr int64_t kMaxParameters = int64_t{1} << 60;

[[noreturn]] void fail(const std::string& op, const std::string& name, const std::string& message) {
  throw Error(Status::invalid_argument, text(op, " '", name, "': ", message));
}

void check_name(const std::string& op, const std::string& name) {
  auto refuse = [&](const std::string& message) { throw Error(Status::invalid_argument, text(op, ": ", message)); };
  if (name.empty()) refuse("name is empty");
  if (name.size() > kMaxNameBytes) refuse(text("name has ", name.size(), " bytes, may have at most ", kMaxNameBytes));
  for (size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    if (c < 0x20 || c == 0x7F) refuse(text("name has a control character at byte ", i));
  }
  if (name.find('/') != std::string::npos) refuse(text("name '", name, "' has a '/', needs dots between its parts"));
  if (name.front() == '.' || name.back() == '.' || name.find("..") != std::string::npos)
    refuse(text("name '", name, "' has an empty part, needs text around every dot"));
}

// What a host may pass on: the model's input, or the first output of a layer.
bool is_layer_output(const Graph& graph, ValueId value) {
  if (value >= graph.values().size()) return false;
  if (graph.value(value).role == Role::input) return graph.value(value).name == "x";
  for (const Node& node : graph.nodes())
    if (node.outputs[0] == value) return true;
  return false;
}

// One layer on its way into a model. Until `commit` nothing of the model has changed: shapes are inferred in a graph that
// holds this layer alone.
class Addition {
 public:
  Addition(Graph& graph, std::vector<Layer>& layers, ParameterStore& parameters, const char* op,
           const std::string& name)
      : graph_(graph), layers_(layers), parameters_(parameters), op_(op), name_(name) {
    check_name(op, name);
    if (!graph.outputs.empty()) fail(op, name, text("model '", graph.name(), "' is complete, no layer can be added"));
    for (const Layer& layer : layers)
      if (layer.name == name) fail(op, name, "the name is taken by another layer");
  }

  // Inputs in the op's order. Gives the shape of the value.
  const Shape& input(ValueId value) {
    if (!is_layer_output(graph_, value))
      fail(op_, name_, text("value ", value, " is not an output of model '", graph_.name(), "'"));
    inputs_.push_back({value, {}, false});
    return graph_.type(value).shape;
  }
  void parameter(const char* suffix, TensorType type) { state(suffix, std::move(type), Role::parameter); }
  void buffer(const char* suffix, TensorType type) { state(suffix, std::move(type), Role::buffer); }
  void extra_input(const char* name, TensorType type) {
    if (const auto existing = graph_.find(name))
      inputs_.push_back({*existing, {}, false});
    else
      inputs_.push_back({kNoValue, {name, std::move(type), Role::input}, true});
  }
  void absent() { inputs_.push_back({kNoValue, {}, false}); }

  ValueId commit(Attributes attributes, std::string description) {
    Layer layer{name_, std::move(description), 0};
    check(attributes, layer);
    Graph graph = graph_;  // a copy, which takes the model's place when nothing can fail any more
    std::vector<Parameter> parameters;
    std::vector<ValueId> inputs;
    for (const Input& in : inputs_) {
      inputs.push_back(in.is_new ? graph.add_value(in.value.name, in.value.type, in.value.role) : in.id);
      if (in.is_new && is_state(in.value.role))
        parameters.push_back({in.value.name, in.value.type, in.value.role == Role::buffer, false, {}});
    }
    const ValueId output = append_node(graph, op_, name_, std::move(inputs), std::move(attributes))[0];
    layers_.push_back(std::move(layer));
    try {
      parameters_.add(std::move(parameters));
    } catch (...) {
      layers_.pop_back();
      throw;
    }
    graph_ = std::move(graph);
    return output;
  }

 private:
  struct Input {
    ValueId id;
    Value value;
    bool is_new;
  };

  void state(const char* suffix, TensorType type, Role role) {
    inputs_.push_back({kNoValue, {text(name_, '.', suffix), std::move(type), role}, true});
  }

  void check(const Attributes& attributes, Layer& layer) const {
    Graph alone;
    std::vector<ValueId> inputs;
    for (const Input& in : inputs_) {
      if (in.is_new)
        inputs.push_back(alone.add_value("", in.value.type, in.value.role));
      else
        inputs.push_back(in.id == kNoValue ? kNoValue : alone.add_value("", graph_.type(in.id), Role::input));
    }
    append_node(alone, op_, name_, std::move(inputs), attributes);
    int64_t total = 0;
    for (const Layer& other : layers_) total += other.parameters;
    for (const Input& in : inputs_) {
      if (!in.is_new) continue;
      const int64_t elements = checked_elements(in.value.type.shape, text(op_, " '", name_, "': ", in.value.name));
      if (in.value.role == Role::parameter) layer.parameters += elements;
    }
    if (total + layer.parameters > kMaxParameters)
      fail(op_, name_,
           text("the model would have ", total + layer.parameters, " parameters, may have at most ", kMaxParameters));
  }

  Graph& graph_;
  std::vector<Layer>& layers_;
  ParameterStore& parameters_;
  const std::string op_;
  const std::string& name_;
  std::vector<Input> inputs_;
};

int64_t channels_of(const Shape& shape) { return shape.rank() > 1 ? shape[1] : 1; }

std::vector<int64_t> list(const int64_t (&pair)[2]) { return {pair[0], pair[1]}; }

Shape without_batch(const Shape& shape) {
  return Shape(std::vector<int64_t>(shape.dims().begin() + 1, shape.dims().end()));
}

}  // namespace

Shape Model::input_shape() const {
  const auto input = graph_.find("x");
  if (!input) throw Error(Status::invalid_argument, text("model '", name_, "' has no input yet"));
  return without_batch(graph_.type(*input).shape);
}

Shape Model::output_shape() const {
  if (!is_complete())
    throw Error(Status::invalid_argument, text("model '", name_, "' is not complete, its output is not set"));
  return without_batch(graph_.type(graph_.outputs[0]).shape);
}

ValueId Model::add_input(const std::string& name, const Shape& sample) {
  check_name("input", name);
  if (graph_.find("x")) fail("input", name, text("model '", name_, "' has an input already"));
  if (sample.rank() < 1 || sample.rank() >= kMaxRank)
    fail("input", name, text("a sample has rank ", sample.rank(), ", needs 1 to ", kMaxRank - 1));
  std::vector<int64_t> dims = {1};
  for (int64_t d : sample.dims()) {
    if (d < 1) fail("input", name, text("a sample has shape ", sample, ", needs sizes of at least 1"));
    dims.push_back(d);
  }
  const Shape shape(dims);
  checked_elements(shape, text("input '", name, "'"));
  return graph_.add_value("x", {DType::f32, shape}, Role::input);
}

ValueId Model::add_conv2d(const std::string& name, ValueId input, const ConvOptions& options) {
  Addition layer(graph_, layers_, *parameters_, "conv2d", name);
  const int64_t in_channels = channels_of(layer.input(input)), out_channels = options.out_channels;
  if (out_channels < 1) fail("conv2d", name, text("out_channels is ", out_channels, ", needs at least 1"));
  const Window& w = options.window;
  // Groups that do not divide, or are below 1, are refused by the op.
  const int64_t group_channels = options.groups > 0 ? in_channels / options.groups : in_channels;
  layer.parameter("weight", {DType::f32, {out_channels, group_channels, w.kernel[0], w.kernel[1]}});
  if (options.bias)
    layer.parameter("bias", {DType::f32, {out_channels}});
  else
    layer.absent();
  return layer.commit({{"kernel", list(w.kernel)},
                       {"stride", list(w.stride)},
                       {"padding", list(w.padding)},
                       {"dilation", list(w.dilation)},
                       {"groups", options.groups}},
                      conv2d_text(in_channels, options));
}

ValueId Model::add_linear(const std::string& name, ValueId input, int64_t out_features, bool bias) {
  Addition layer(graph_, layers_, *parameters_, "linear", name);
  const Shape& x = layer.input(input);
  if (x.rank() != 2) fail("linear", name, text("input has shape ", x, ", needs [batch, features]; flatten it first"));
  if (out_features < 1) fail("linear", name, text("out_features is ", out_features, ", needs at least 1"));
  const int64_t in_features = x[1];
  layer.parameter("weight", {DType::f32, {out_features, in_features}});
  if (bias)
    layer.parameter("bias", {DType::f32, {out_features}});
  else
    layer.absent();
  return layer.commit({}, linear_text(in_features, out_features, bias));
}

ValueId Model::add_batch_norm2d(const std::string& name, ValueId input, double eps, double momentum) {
  Addition layer(graph_, layers_, *parameters_, "batch_norm2d", name);
  const int64_t channels = channels_of(layer.input(input));
  if (!(eps > 0) || !std::isfinite(eps)) fail("batch_norm2d", name, text("eps is ", eps, ", needs a number above 0"));
  if (!(momentum >= 0 && momentum <= 1)) fail("batch_norm2d", name, text("momentum is ", momentum, ", needs 0 to 1"));
  const TensorType type{DType::f32, {channels}};
  layer.parameter("weight", type);
  layer.parameter("bias", type);
  layer.buffer("running_mean", type);
  layer.buffer("running_var", type);
  layer.buffer("num_batches_tracked", {DType::i64, {}});
  layer.absent();
  return layer.commit({{"eps", eps}, {"momentum", momentum}}, batch_norm2d_text(channels, eps, momentum));
}

ValueId Model::add_relu(const std::string& name, ValueId input) {
  Addition layer(graph_, layers_, *parameters_, "relu", name);
  layer.input(input);
  return layer.commit({}, "ReLU()");
}

ValueId Model::add_max_pool2d(const std::string& name, ValueId input, const Window& window) {
  Addition layer(graph_, layers_, *parameters_, "max_pool2d", name);
  layer.input(input);
  if (window.dilation[0] != 1 || window.dilation[1] != 1)
    fail("max_pool2d", name, "a dilation other than 1 is not supported");
  return layer.commit(
      {{"kernel", list(window.kernel)}, {"stride", list(window.stride)}, {"padding", list(window.padding)}},
      max_pool2d_text(window));
}

ValueId Model::add_avg_pool2d(const std::string& name, ValueId input, const Window& window, bool count_include_pad) {
  Addition layer(graph_, layers_, *parameters_, "avg_pool2d", name);
  layer.input(input);
  if (window.dilation[0] != 1 || window.dilation[1] != 1)
    fail("avg_pool2d", name, "a dilation other than 1 is not supported");
  return layer.commit({{"kernel", list(window.kernel)},
                       {"stride", list(window.stride)},
                       {"padding", list(window.padding)},
                       {"count_include_pad", int64_t{count_include_pad}}},
                      avg_pool2d_text(window));
}

ValueId Model::add_adaptive_avg_pool2d(const std::string& name, ValueId input, int64_t height, int64_t width) {
  Addition layer(graph_, layers_, *parameters_, "adaptive_avg_pool2d", name);
  layer.input(input);
  return layer.commit({{"size", std::vector<int64_t>{height, width}}}, adaptive_avg_pool2d_text(height, width));
}

ValueId Model::add_flatten(const std::string& name, ValueId input) {
  Addition layer(graph_, layers_, *parameters_, "reshape", name);
  layer.input(input);
  return layer.commit({{"shape", std::vector<int64_t>{-1}}}, "Flatten(start_dim=1, end_dim=-1)");
}

ValueId Model::add_sum(const std::string& name, ValueId a, ValueId b) {
  Addition layer(graph_, layers_, *parameters_, "add", name);
  layer.input(a);
  layer.input(b);
  return layer.commit({}, "Add()");
}

ValueId Model::add_dropout(const std::string& name, ValueId input, double probability) {
  Addition layer(graph_, layers_, *parameters_, "dropout", name);
  layer.input(input);
  layer.extra_input("dropout_counter", {DType::i64, {2}});  // {seed, step}, one for all dropouts
  return layer.commit(
      {{"probability", probability}, {"layer", static_cast<int64_t>(hash_name(name))}, {"sample_offset", int64_t{0}}},
      dropout_text(probability));
}

void Model::set_output(ValueId value) {
  if (is_complete())
    throw Error(Status::invalid_argument, text("model '", name_, "' is complete, its output is set already"));
  if (!is_layer_output(graph_, value))
    throw Error(Status::invalid_argument, text("model '", name_, "': value ", value, " is not an output of the model"));
  if (graph_.value(value).role == Role::input)
    throw Error(Status::invalid_argument, text("model '", name_, "': the input cannot be the output, add a layer"));
  graph_.outputs = {value};
}

void Model::name_container(const std::string& prefix, const std::string& kind) {
  containers_.emplace_back(prefix, kind);
}

}  // namespace troika
