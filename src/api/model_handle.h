// The model's handle: a model, its predictors, and the context that it keeps alive.
#pragma once

#include <troika/model.h>

#include "api/handle.h"
#include "core/text.h"
#include "models/model.h"

namespace troika {
class Context;
class PredictorPool;
}  // namespace troika

namespace troika::api {

struct ModelObject {
  // Without predictors, the model gets its own.
  ModelObject(std::shared_ptr<Context> its_context, std::shared_ptr<Model> its_model,
              std::shared_ptr<PredictorPool> shared_predictors = nullptr);

  const std::shared_ptr<Context> context;
  const std::shared_ptr<Model> model;
  const std::shared_ptr<PredictorPool> predictors;  // which clones share
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
