// Layer calls: each checks everything first, then appends its values, nodes and parameters.
#include "models/model.h"

#include <atomic>
#include <cmath>

#include "core/error.h"
#include "core/random.h"
#include "core/text.h"
#include "models/addition.h"
#include "models/layer_text.h"

namespace troika {
namespace {

int64_t channels_of(const Shape& shape) { return shape.rank() > 1 ? shape[1] : 1; }

std::vector<int64_t> list(const int64_t (&pair)[2]) { return {pair[0], pair[1]}; }

int32_t next_serial() {
  static std::atomic<uint32_t> last{0};
  return static_cast<int32_t>(++last % INT32_MAX) + 1;
}

}  // namespace

Shape without_batch(const Shape& shape) {
  return Shape(std::vector<int64_t>(shape.dims().begin() + 1, shape.dims().end()));
}

Model::Model(std::string name) : name_(std::move(name)), serial_(next_serial()), graph_(name_) {}

std::shared_ptr<Model> Model::clone() const {
  const std::shared_ptr<Model> copy(new Model(*this));
  copy->serial_ = next_serial();
  return copy;
}

const TensorType& Model::input_type() const {
  const auto input = graph_.find("x");
  if (!input) throw Error(Status::invalid_argument, text("model '", name_, "' has no input yet"));
  return graph_.type(*input);
}

Shape Model::input_shape() const { return without_batch(input_type().shape); }

DType Model::input_dtype() const { return input_type().dtype; }

Shape Model::output_shape() const {
  if (!is_complete())
    throw Error(Status::invalid_argument, text("model '", name_, "' is not complete, its output is not set"));
  return without_batch(graph_.type(graph_.outputs[0]).shape);
}

ValueId Model::add_input(const std::string& name, const Shape& sample, DType dtype) {
  check_layer_name("input", name);
  if (dtype != DType::f32 && dtype != DType::i32)
    fail_layer("input", name, text("dtype is ", name_of(dtype), ", needs f32, or i32 for tokens"));
  if (graph_.find("x")) fail_layer("input", name, text("model '", name_, "' has an input already"));
  if (sample.rank() < 1 || sample.rank() >= kMaxRank)
    fail_layer("input", name, text("a sample has rank ", sample.rank(), ", needs 1 to ", kMaxRank - 1));
  std::vector<int64_t> dims = {1};
  for (int64_t d : sample.dims()) {
    if (d < 1) fail_layer("input", name, text("a sample has shape ", sample, ", needs sizes of at least 1"));
    dims.push_back(d);
  }
  const Shape shape(dims);
  checked_elements(shape, text("input '", name, "'"));
  Layer layer{.name = name, .kind = "input"};
  layer.settings = {{"dtype", std::string(name_of(dtype))}, {"shape", sample.dims()}};
  layer.output = graph_.add_value("x", {dtype, shape}, Role::samples);
  try {
    layers_.add(std::move(layer));
  } catch (...) {
    graph_.truncate(0, 0);  // there is no layer before the input
    throw;
  }
  return layers_.all().back().output;
}

ValueId Model::add_conv2d(const std::string& name, ValueId input, const ConvOptions& options) {
  Addition layer(graph_, layers_, *parameters_, "conv2d", name);
  const int64_t in_channels = channels_of(layer.input(input)), out_channels = options.out_channels;
  if (out_channels < 1) fail_layer("conv2d", name, text("out_channels is ", out_channels, ", needs at least 1"));
  const Window& w = options.window;
  // The op refuses groups that do not divide the channels, or are below 1.
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
                      conv2d_text(in_channels, options),
                      {{"out_channels", out_channels},
                       {"kernel", list(w.kernel)},
                       {"stride", list(w.stride)},
                       {"padding", list(w.padding)},
                       {"dilation", list(w.dilation)},
                       {"groups", options.groups},
                       {"bias", int64_t{options.bias}}});
}

ValueId Model::add_linear(const std::string& name, ValueId input, int64_t out_features, bool bias,
                          bool is_per_position) {
  const char* kind = is_per_position ? "linear_per_position" : "linear";
  Addition layer(graph_, layers_, *parameters_, "linear", name, kind);
  const Shape& x = layer.input(input);
  if (is_per_position && x.rank() != 3)
    fail_layer("linear", name, text("input has shape ", x, ", needs [batch, steps, features]"));
  if (!is_per_position && x.rank() != 2)
    fail_layer("linear", name, text("input has shape ", x, ", needs [batch, features]; flatten it first"));
  if (out_features < 1) fail_layer("linear", name, text("out_features is ", out_features, ", needs at least 1"));
  const int64_t in_features = x[x.rank() - 1];
  layer.parameter("weight", {DType::f32, {out_features, in_features}});
  if (bias)
    layer.parameter("bias", {DType::f32, {out_features}});
  else
    layer.absent();
  const Attributes attributes = is_per_position ? Attributes{{"per_position", int64_t{1}}} : Attributes();
  return layer.commit(attributes, linear_text(in_features, out_features, bias),
                      {{"out_features", out_features}, {"bias", int64_t{bias}}});
}

ValueId Model::add_embedding(const std::string& name, ValueId tokens, int64_t words, int64_t features) {
  Addition layer(graph_, layers_, *parameters_, "embedding", name);
  layer.input(tokens, DType::i32);
  if (words < 1 || words > INT32_MAX)
    fail_layer("embedding", name, text("words is ", words, ", needs 1 to ", INT32_MAX));
  if (features < 1) fail_layer("embedding", name, text("features is ", features, ", needs at least 1"));
  layer.parameter("weight", {DType::f32, {words, features}});
  return layer.commit({}, embedding_text(words, features), {{"words", words}, {"features", features}});
}

ValueId Model::add_batch_norm2d(const std::string& name, ValueId input, double eps, double momentum) {
  Addition layer(graph_, layers_, *parameters_, "batch_norm2d", name);
  const int64_t channels = channels_of(layer.input(input));
  if (!(eps > 0) || !std::isfinite(eps))
    fail_layer("batch_norm2d", name, text("eps is ", eps, ", needs a number above 0"));
  if (!(momentum >= 0 && momentum <= 1))
    fail_layer("batch_norm2d", name, text("momentum is ", momentum, ", needs 0 to 1"));
  const TensorType type{DType::f32, {channels}};
  layer.parameter("weight", type);
  layer.parameter("bias", type);
  layer.buffer("running_mean", type);
  layer.buffer("running_var", type);
  layer.buffer("num_batches_tracked", {DType::i64, {}});
  layer.absent();
  const Attributes settings = {{"eps", eps}, {"momentum", momentum}};
  return layer.commit(settings, batch_norm2d_text(channels, eps, momentum), settings);
}

ValueId Model::add_relu(const std::string& name, ValueId input) {
  Addition layer(graph_, layers_, *parameters_, "relu", name);
  layer.input(input);
  return layer.commit({}, "ReLU()");
}

ValueId Model::add_gelu(const std::string& name, ValueId input) {
  Addition layer(graph_, layers_, *parameters_, "gelu", name);
  layer.input(input);
  return layer.commit({}, "GELU(approximate='none')");
}

ValueId Model::add_max_pool2d(const std::string& name, ValueId input, const Window& window) {
  Addition layer(graph_, layers_, *parameters_, "max_pool2d", name);
  layer.input(input);
  if (window.dilation[0] != 1 || window.dilation[1] != 1)
    fail_layer("max_pool2d", name, "a dilation other than 1 is not supported");
  const Attributes settings = {
      {"kernel", list(window.kernel)}, {"stride", list(window.stride)}, {"padding", list(window.padding)}};
  return layer.commit(settings, max_pool2d_text(window), settings);
}

ValueId Model::add_avg_pool2d(const std::string& name, ValueId input, const Window& window, bool count_include_pad) {
  Addition layer(graph_, layers_, *parameters_, "avg_pool2d", name);
  layer.input(input);
  if (window.dilation[0] != 1 || window.dilation[1] != 1)
    fail_layer("avg_pool2d", name, "a dilation other than 1 is not supported");
  const Attributes settings = {{"kernel", list(window.kernel)},
                               {"stride", list(window.stride)},
                               {"padding", list(window.padding)},
                               {"count_include_pad", int64_t{count_include_pad}}};
  return layer.commit(settings, avg_pool2d_text(window), settings);
}

ValueId Model::add_adaptive_avg_pool2d(const std::string& name, ValueId input, int64_t height, int64_t width) {
  Addition layer(graph_, layers_, *parameters_, "adaptive_avg_pool2d", name);
  layer.input(input);
  const Attributes settings = {{"size", std::vector<int64_t>{height, width}}};
  return layer.commit(settings, adaptive_avg_pool2d_text(height, width), settings);
}

ValueId Model::add_flatten(const std::string& name, ValueId input) {
  Addition layer(graph_, layers_, *parameters_, "reshape", name, "flatten");
  layer.input(input);
  return layer.commit({{"shape", std::vector<int64_t>{-1}}}, "Flatten(start_dim=1, end_dim=-1)");
}

ValueId Model::add_sum(const std::string& name, ValueId a, ValueId b) {
  Addition layer(graph_, layers_, *parameters_, "add", name, "sum");
  layer.input(a);
  layer.input(b);
  return layer.commit({}, "Add()");
}

ValueId Model::add_dropout(const std::string& name, ValueId input, double probability) {
  Addition layer(graph_, layers_, *parameters_, "dropout", name);
  layer.input(input);
  layer.shared_input("dropout_counter", {DType::i64, {2}}, Role::counter, dropout_counter_);
  return layer.commit(
      {{"probability", probability}, {"layer", static_cast<int64_t>(hash_name(name))}, {"sample_offset", int64_t{0}}},
      dropout_text(probability), {{"probability", probability}});
}

void Model::set_output(ValueId value) {
  if (is_complete())
    throw Error(Status::invalid_argument, text("model '", name_, "' is complete, its output is set already"));
  if (!layers_.is_output(value))
    throw Error(Status::invalid_argument, text("model '", name_, "': value ", value, " is not an output of the model"));
  if (is_input(graph_.value(value).role))
    throw Error(Status::invalid_argument, text("model '", name_, "': the input cannot be the output, add a layer"));
  graph_.outputs = {value};
}

void Model::name_container(const std::string& prefix, const std::string& kind) {
  containers_.emplace_back(prefix, kind);
}

}  // namespace troika
