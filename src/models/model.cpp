// Models: their input and output, clones, and names that parameters share.
#include "models/model.h"

#include <algorithm>
#include <atomic>

#include "core/error.h"
#include "core/text.h"
#include "core/utf8.h"
#include "models/addition.h"

namespace troika {
namespace {

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

void Model::share_parameter(const std::string& name, const std::string& of) {
  if (is_complete())
    throw Error(Status::invalid_argument, text("model '", name_, "' is complete, no parameter can be shared"));
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos)
    throw Error(Status::invalid_argument, text("share '", printable(name), "': needs a layer's name, a dot, and a ",
                                               "parameter's, such as 'fc.weight'"));
  check_layer_name("share", name.substr(0, dot));
  const auto& shared = parameters_->shared_names();
  if (std::any_of(shared.begin(), shared.end(), [&](const SharedName& s) { return s.name == name; }))
    throw Error(Status::invalid_argument, text("share '", name, "': the name is shared already"));
  if (layers_.contains(name.substr(0, dot)))
    throw Error(Status::invalid_argument, text("share '", name, "': the model has layer '", name.substr(0, dot),
                                               "' already; share first, then add the layer"));
  const size_t index = parameters_->index_of(of);
  if (parameters_->entry(index).is_buffer)
    throw Error(Status::invalid_argument, text("share '", name, "': '", of, "' is a buffer, needs a parameter"));
  parameters_->share(name, index);
}

void Model::set_output(ValueId value) {
  if (is_complete())
    throw Error(Status::invalid_argument, text("model '", name_, "' is complete, its output is set already"));
  if (!layers_.is_output(value))
    throw Error(Status::invalid_argument, text("model '", name_, "': value ", value, " is not an output of the model"));
  if (is_input(graph_.value(value).role))
    throw Error(Status::invalid_argument, text("model '", name_, "': the input cannot be the output, add a layer"));
  for (const SharedName& shared : parameters_->shared_names())
    if (!shared.is_taken)
      throw Error(Status::invalid_argument,
                  text("model '", name_, "': no layer '", shared.name.substr(0, shared.name.rfind('.')),
                       "' was added, whose parameter '", shared.name, "' is to be shared"));
  graph_.outputs = {value};
}

void Model::name_container(const std::string& prefix, const std::string& kind) {
  containers_.emplace_back(prefix, kind);
}

}  // namespace troika
