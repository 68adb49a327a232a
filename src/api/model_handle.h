// The model's handle: a model, and the context that it keeps alive.
#pragma once

#include <troika/model.h>

#include "api/handle.h"
#include "core/text.h"
#include "models/model.h"

namespace troika {
class Context;
class Predictor;
}  // namespace troika

namespace troika::api {

struct ModelObject {
  std::shared_ptr<Context> context;
  std::shared_ptr<Model> model;
  std::shared_ptr<Predictor> predictor;  // for troika_model_predict; null until it is called
};

// INVALID_ARGUMENT if the model's input is not of this type.
inline void check_input_type(DType found, const Model& model, const char* function) {
  if (found != model.input_dtype())
    throw Error(Status::invalid_argument,
                text(function, ": input is ", name_of(found), ", needs ", name_of(model.input_dtype())));
}

}  // namespace troika::api

struct troika_model_s : troika::api::Handle<troika::api::ModelObject, 0x54524d4f, troika::api::Threads::yes> {
  using Handle::Handle;
};
