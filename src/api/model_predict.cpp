// troika_model_predict, troika_model_predict_into and troika_model_clone: the model alone, in
// evaluation mode, on any device.
#include "api/context_handle.h"
#include "api/model_handle.h"
#include "api/tensor_handle.h"
#include "core/nearest_name.h"
#include "train/predictor_pool.h"

using namespace troika;
using namespace troika::api;

ModelObject::ModelObject(std::shared_ptr<Context> its_context, std::shared_ptr<Model> its_model,
                         std::shared_ptr<PredictorPool> shared_predictors)
    : context(std::move(its_context)),
      model(std::move(its_model)),
      predictors(shared_predictors ? std::move(shared_predictors) : std::make_shared<PredictorPool>(context, model)) {}

namespace {

// Returns the output of a layer, which is that of its last node.
ValueId output_of(const Model& model, const char* layer, const char* function) {
  const std::vector<Node>& nodes = model.graph().nodes();
  const std::string name = layer;
  for (size_t i = nodes.size(); i-- > 0;)
    if (nodes[i].name == name) return nodes[i].outputs[0];
  const std::string* const nearest =
      nearest_name(name, nodes, [](const Node& node) -> const std::string& { return node.name; });
  throw Error(Status::not_found, text(function, ": layer '", name, "' is not in model '", model.name(), "'",
                                      nearest ? text("; the nearest name is '", *nearest, "'") : ""));
}

// INVALID_ARGUMENT unless the memory holds `n` values of that shape.
void check_output_bytes(int64_t size_bytes, const Shape& sample, int64_t n, const char* function) {
  const int64_t bytes = sample.elements() * static_cast<int64_t>(sizeof(float));
  if (size_bytes % bytes != 0 || size_bytes / bytes != n)
    throw Error(Status::invalid_argument, text(function, ": argument 'size_bytes' is ", size_bytes, ", ", n, " x ",
                                               sample, " of f32 needs ",
                                               n <= INT64_MAX / bytes ? text(n * bytes) : text(bytes, " each")));
}

}  // namespace

troika_status troika_model_clone(troika_model model, troika_model* out_clone, troika_error* error) {
  constexpr const char* kName = "troika_model_clone";
  return guard(error, [&] {
    *required(out_clone, kName, "out_clone") = nullptr;
    const auto object = object_of(model, kName, "model");
    const Together together(object->model->busy(), kName, "model");
    if (!object->model->is_complete())
      throw Error(Status::invalid_argument,
                  text("model '", object->model->name(), "': has no output yet; set it before cloning"));
    *out_clone =
        new troika_model_s(std::make_shared<ModelObject>(object->context, object->model->clone(), object->predictors));
  });
}

troika_status troika_model_predict(troika_model model, troika_device device, troika_tensor input,
                                   troika_tensor* out_output, troika_error* error) {
  constexpr const char* kName = "troika_model_predict";
  return guard(error, [&] {
    *required(out_output, kName, "out_output") = nullptr;
    const auto object = object_of(model, kName, "model");
    const auto input_hold = object_of(input, kName, "input");
    const Model& m = *object->model;
    const Tensor& x = *input_hold->tensor;
    check_device_kind(device, kName);
    const Together together(object->model->busy(), kName, "model");
    check_input_type(x.type().dtype, m, kName);
    const bool is_on_host = x.device()->id().kind == DeviceKind::cpu;
    const std::vector<std::byte> host = is_on_host ? std::vector<std::byte>() : x.to_host();
    const void* const inputs = is_on_host ? x.data() : host.data();
    object->predictors->check(x.type(), inputs);
    const int64_t n = x.type().shape[0];
    auto result = Tensor::create(open_device(*object->context, device, kName), {DType::f32, m.output_shape().times(n)});
    if (device.kind == TROIKA_DEVICE_CPU) {
      object->predictors->predict(device_id(device), n, kNoValue, inputs, reinterpret_cast<float*>(result->data()));
    } else {
      std::vector<float> output(result->bytes() / sizeof(float));
      object->predictors->predict(device_id(device), n, kNoValue, inputs, output.data());
      result->write(output.data());
    }
    *out_output = new troika_tensor_s(std::make_shared<TensorObject>(TensorObject{object->context, std::move(result)}));
  });
}

troika_status troika_model_predict_into(troika_model model, troika_device device, const void* inputs, int64_t n,
                                        const char* layer, float* output, int64_t size_bytes, troika_error* error) {
  constexpr const char* kName = "troika_model_predict_into";
  return guard(error, [&] {
    const auto object = object_of(model, kName, "model");
    const Model& m = *object->model;
    check_device_kind(device, kName);
    required(inputs, kName, "inputs");
    required(output, kName, "output");
    bytes_argument(size_bytes, kName);
    if (n < 1) throw Error(Status::invalid_argument, text(kName, ": argument 'n' is ", n, ", needs at least 1"));
    const Together together(object->model->busy(), kName, "model");
    const Shape whole = m.output_shape();  // refuses a model without output
    const ValueId value = layer ? output_of(m, layer, kName) : kNoValue;
    check_output_bytes(size_bytes, layer ? without_batch(m.graph().type(value).shape) : whole, n, kName);
    const Shape shape = m.input_shape().times(n);
    checked_elements(shape, text(kName, ": inputs"));
    object->predictors->check({m.input_dtype(), shape}, inputs);
    object->predictors->predict(device_id(device), n, value, inputs, output);
  });
}
