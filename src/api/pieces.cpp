// troika_trainer_forward, _backward and _apply: a training step in pieces.
#include <troika/pieces.h>

#include <limits>

#include "api/data_handles.h"
#include "api/field_check.h"
#include "api/structs.h"
#include "api/tensor_handle.h"
#include "api/trainer_call.h"
#include "train/state_reader.h"

using namespace troika;
using namespace troika::api;

namespace {

ForwardOptions to_options(const troika_forward_options* given) {
  const troika_forward_options options = read_options(given);
  const FieldCheck check("troika_trainer_forward: options.");
  check.integer("input_gradient", options.input_gradient, 0, 1);
  check.integer("own_loss", options.own_loss, 0, 1);
  check.integer("reserved", options.reserved, 0, 0);
  if (options.weight != 0) {
    check.real("weight", options.weight, 0, std::numeric_limits<float>::max());
    if (options.own_loss == 1) check.conflict("weight", text(options.weight), "own_loss 0");
  }
  return {.has_own_loss = options.own_loss == 1,
          .has_input_gradient = options.input_gradient == 1,
          .weight = options.weight == 0 ? 1.0 : options.weight};
}

}  // namespace

troika_status troika_trainer_forward(troika_trainer trainer, troika_batch batch, const troika_forward_options* options,
                                     troika_tensor* out_output, troika_step_result* out_result, troika_error* error) {
  constexpr const char* kName = "troika_trainer_forward";
  return guard(error, [&] {
    if (out_output) *out_output = nullptr;
    if (out_result) result_size(out_result, kName, "out_result");
    Call call(trainer, kName);
    const auto hold = batch_of(batch, kName, "batch");
    const ForwardOptions forward = to_options(options);
    // Allocated before the pass, which could not be repeated without running statistics changing
    // twice.
    std::unique_ptr<troika_tensor_s> tensor;
    if (out_output) tensor = new_tensor(call, call.trainer.model()->output_shape().times(hold->size()), kName);
    StepResult found;
    std::vector<float> output;
    if (!call.trainer.forward(*hold, forward, found, out_result != nullptr, tensor ? &output : nullptr))
      return TROIKA_STOPPED;
    if (tensor) {
      tensor->object->tensor->write(output.data());
      *out_output = tensor.release();
    }
    write_step_result(found, out_result, kName);
    return TROIKA_OK;
  });
}

troika_status troika_trainer_backward(troika_trainer trainer, troika_tensor output_gradient, troika_error* error) {
  constexpr const char* kName = "troika_trainer_backward";
  return guard(error, [&] {
    Call call(trainer, kName);
    if (!output_gradient) return call.trainer.backward({}, nullptr);
    const auto hold = object_of(output_gradient, kName, "output_gradient");
    const Tensor& gradient = *hold->tensor;
    std::vector<float> host((gradient.type().bytes() + sizeof(float) - 1) / sizeof(float));
    gradient.read(host.data());
    call.trainer.backward(gradient.type(), host.data());
  });
}

troika_status troika_trainer_get_input_gradient(troika_trainer trainer, float* data, int64_t size_bytes,
                                                troika_error* error) {
  constexpr const char* kName = "troika_trainer_get_input_gradient";
  return guard(error, [&] {
    Call call(trainer, kName);
    call.trainer.check_usable();
    required(data, kName, "data");
    const size_t bytes = bytes_argument(size_bytes, kName);
    const std::vector<float>& gradient = call.trainer.pieces().input_gradient();
    const size_t needed = gradient.size() * sizeof(float);
    if (bytes != needed)
      throw Error(Status::invalid_argument,
                  text(kName, ": buffer has ", bytes, " bytes, the gradient of the inputs needs ", needed));
    std::memcpy(data, gradient.data(), needed);
  });
}

troika_status troika_trainer_set_gradient(troika_trainer trainer, const char* name, const float* data,
                                          int64_t size_bytes, troika_error* error) {
  constexpr const char* kName = "troika_trainer_set_gradient";
  return guard(error, [&] {
    Call call(trainer, kName);
    write_gradient(call.trainer, parameter_argument(call, name, kName), required(data, kName, "data"),
                   bytes_argument(size_bytes, kName));
  });
}

troika_status troika_trainer_apply(troika_trainer trainer, troika_step_result* out_result, troika_error* error) {
  constexpr const char* kName = "troika_trainer_apply";
  return guard(error, [&] {
    if (out_result) result_size(out_result, kName, "out_result");
    Call call(trainer, kName);
    const StepResult found = call.trainer.apply(out_result != nullptr);
    write_step_result(found, out_result, kName);
    return found.is_skipped ? TROIKA_STEP_SKIPPED : TROIKA_OK;
  });
}
