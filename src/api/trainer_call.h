// A call on a trainer, the loader that it borrows, and what several such calls return.
#pragma once

#include <memory>

#include "api/data_handles.h"
#include "api/tensor_handle.h"
#include "api/trainer_handle.h"

namespace troika::api {

// A call on a trainer: checks the handle, and holds the trainer for exclusive use.
struct Call {
  Call(troika_trainer handle, const char* name)
      : object(object_of(handle, name, "trainer")),
        trainer(*object->trainer),
        exclusive(trainer.busy(), name, "trainer") {}
  const Hold<TrainerObject> object;
  Trainer& trainer;
  Exclusive exclusive;
};

// Lends a loader to the trainer for one call. The loader's last batch becomes invalid.
struct BorrowedLoader {
  BorrowedLoader(troika_loader handle, const char* name)
      : object(object_of(handle, name, "loader")), exclusive(object->in_use, name, "loader") {
    object->forget_batch();
  }
  const Hold<LoaderObject> object;
  Exclusive exclusive;
};

// Fills the caller's result, unless it is NULL.
void write_step_result(const StepResult& found, troika_step_result* out, const char* function);

// Returns a tensor of zeros on the trainer's first device.
std::unique_ptr<troika_tensor_s> new_tensor(const Call& call, const Shape& shape, const char* function);

// Reads argument 'name': returns a parameter's own name for one by which a layer shares it.
inline std::string parameter_argument(const Call& call, const char* name, const char* function) {
  const ParameterStore& store = *call.trainer.model()->parameters();
  required(name, function, "name");
  return store.contains(name) ? store.entry(store.index_of(name)).name : name;
}

}  // namespace troika::api
