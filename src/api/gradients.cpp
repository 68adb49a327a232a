// The C functions of troika/gradients.h.
#include <troika/gradients.h>

#include "api/context_handle.h"
#include "api/tensor_handle.h"

namespace troika::api {

struct GradientsObject {
  std::shared_ptr<Context> context;
  std::shared_ptr<Tape> tape = std::make_shared<Tape>();
};

}  // namespace troika::api

struct troika_gradients_s : troika::api::Handle<troika::api::GradientsObject, 0x54524744> {
  using Handle::Handle;
};

using namespace troika;
using namespace troika::api;

troika_status troika_gradients_create(troika_context context, troika_gradients* out_gradients, troika_error* error) {
  constexpr const char* kName = "troika_gradients_create";
  return guard(error, [&] {
    *required(out_gradients, kName, "out_gradients") = nullptr;
    const auto c = object_of(context, kName, "context");
    *out_gradients = new troika_gradients_s(std::make_shared<GradientsObject>(GradientsObject{c.shared()}));
  });
}

void troika_gradients_destroy(troika_gradients gradients) { destroy_handle(gradients); }

troika_status troika_gradients_watch(troika_gradients gradients, troika_tensor tensor, troika_error* error) {
  constexpr const char* kName = "troika_gradients_watch";
  return guard(error, [&] {
    const auto record = object_of(gradients, kName, "gradients");
    const auto object = object_of(tensor, kName, "tensor");
    const std::shared_ptr<Tape> earlier = object->tape.lock();
    if (earlier == record->tape) return;
    if (earlier)
      throw Error(Status::invalid_argument,
                  text(kName, ": argument 'tensor' belongs to another gradients object; destroy that first"));
    if (!is_compute_dtype(object->tensor->type().dtype))
      throw Error(Status::invalid_argument, text(kName, ": argument 'tensor' is ",
                                                 name_of(object->tensor->type().dtype), ", need f32, bf16 or f16"));
    object->id = record->tape->watch(object->tensor);
    object->tape = record->tape;
  });
}

troika_status troika_gradients_compute(troika_gradients gradients, troika_tensor number, const troika_tensor* tensors,
                                       int32_t tensor_count, troika_tensor* out_tensors, troika_error* error) {
  constexpr const char* kName = "troika_gradients_compute";
  return guard(error, [&] {
    if (tensor_count < 1)
      throw Error(Status::invalid_argument, text(kName, ": tensor_count is ", tensor_count, ", need at least 1"));
    required(tensors, kName, "tensors");
    required(out_tensors, kName, "out_tensors");
    std::fill(out_tensors, out_tensors + tensor_count, nullptr);
    const auto record = object_of(gradients, kName, "gradients");
    const auto id_of = [&](troika_tensor tensor, const std::string& argument) {
      const auto object = object_of(tensor, kName, argument.c_str());
      if (object->tape.lock() != record->tape)
        throw Error(Status::invalid_argument,
                    text(kName, ": argument '", argument, "' is not recorded by this gradients object"));
      return object->id;
    };
    const ValueId of = id_of(number, "number");
    std::vector<ValueId> wanted;
    for (int32_t i = 0; i < tensor_count; ++i) wanted.push_back(id_of(tensors[i], text("tensors[", i, "]")));
    std::vector<std::unique_ptr<troika_tensor_s>> handles;
    for (TensorPtr& gradient : record->tape->gradients(of, wanted))
      handles.emplace_back(new_tensor(record->context, std::move(gradient)));
    for (int32_t i = 0; i < tensor_count; ++i) out_tensors[i] = handles[static_cast<size_t>(i)].release();
  });
}
