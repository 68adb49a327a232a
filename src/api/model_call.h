// A call of a C function of models: the handle, and the arguments that several functions have.
#pragma once

#include <string>

#include "api/context_handle.h"
#include "api/model_handle.h"
#include "core/utf8.h"

namespace troika::api {

[[noreturn]] inline void refuse(const char* function, const std::string& message) {
  throw Error(Status::invalid_argument, text(function, ": ", message));
}

// Returns a name that is not NULL and is valid UTF-8. The model checks its other rules for names.
inline std::string name_argument(const char* name, const char* function) {
  const std::string result = required(name, function, "name");
  const size_t invalid = find_invalid_utf8(result);
  if (invalid != std::string::npos) refuse(function, text("argument 'name' is not UTF-8 at byte ", invalid));
  return result;
}

// The number of the model is in the high half of a value, its index plus 1 in the low half.
constexpr int kSerialShift = 32;

inline troika_value value_of(const Model& model, ValueId id) {
  return (troika_value{model.serial()} << kSerialShift) + id + 1;
}

inline ValueId value_argument(const Model& model, troika_value value, const char* function, const char* argument) {
  const int64_t id = (value & UINT32_MAX) - 1;
  if (value >> kSerialShift != model.serial() || id < 0 || id >= std::ssize(model.graph().values()))
    refuse(function, text("argument '", argument, "' is ", value, ", not a value of model '", model.name(), "'"));
  return static_cast<ValueId>(id);
}

// Returns a new hold on a model that keeps the context alive.
inline troika_model new_model(troika_context context, const char* function, std::shared_ptr<Model> model) {
  const auto owner = object_of(context, function, "context");
  return new troika_model_s(std::make_shared<ModelObject>(owner.shared(), std::move(model)));
}

// Runs `body` with the model of the handle: Exclusive, or Together with other calls that only read
// the model.
template <typename Mark = Exclusive, typename Body>
troika_status with_model(troika_model handle, const char* function, troika_error* error, Body&& body) {
  return guard(error, [&] {
    const auto object = object_of(handle, function, "model");
    const Mark mark(object->model->busy(), function, "model");
    body(*object->model);
  });
}

}  // namespace troika::api
