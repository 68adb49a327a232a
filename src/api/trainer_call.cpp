// Results of calls on a trainer.
#include "api/trainer_call.h"

#include "api/step_result.h"
#include "api/structs.h"

namespace troika::api {

void write_step_result(const StepResult& found, troika_step_result* out, const char* function) {
  if (out) write_result(out, to_public(found), function, "out_result");
}

std::unique_ptr<troika_tensor_s> new_tensor(const Call& call, const Shape& shape, const char* function) {
  const DeviceId first = call.trainer.devices()[0];
  const troika_device device{static_cast<int32_t>(first.kind), first.index};
  auto tensor = Tensor::create(open_device(*call.object->context, device, function), {DType::f32, shape});
  return std::make_unique<troika_tensor_s>(
      std::make_shared<TensorObject>(TensorObject{call.object->context, std::move(tensor)}));
}

}  // namespace troika::api
