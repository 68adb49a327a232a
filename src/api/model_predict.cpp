// troika_model_predict: the model alone, in evaluation mode, on any device.
#include "api/context_handle.h"
#include "api/model_handle.h"
#include "api/tensor_handle.h"
#include "train/predictor.h"

using namespace troika;
using namespace troika::api;

troika_status troika_model_predict(troika_model model, troika_device device, troika_tensor input,
                                   troika_tensor* out_output, troika_error* error) {
  constexpr const char* kName = "troika_model_predict";
  return guard(error, [&] {
    *required(out_output, kName, "out_output") = nullptr;
    const auto hold = object_of(model, kName, "model");
    const auto input_hold = object_of(input, kName, "input");
    ModelObject& object = *hold;
    const Tensor& x = *input_hold->tensor;
    check_device_kind(device, kName);
    Exclusive exclusive(object.model->busy(), kName, "model");
    // Only the predictor of the last device is kept, with its compiled plans.
    if (!object.predictor || object.predictor->device() != device_id(device))
      object.predictor = std::make_shared<Predictor>(object.context, object.model, device_id(device));
    check_input_type(x.type().dtype, *object.model, kName);
    std::vector<float> output;
    std::vector<std::byte> host(x.type().bytes());
    x.read(host.data());
    const Shape shape = object.predictor->predict(x.type(), host.data(), output);
    auto result = Tensor::create(open_device(*object.context, device, kName), {DType::f32, shape});
    result->write(output.data());
    *out_output = new troika_tensor_s(std::make_shared<TensorObject>(TensorObject{object.context, std::move(result)}));
  });
}
