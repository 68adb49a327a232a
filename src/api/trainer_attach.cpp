// troika_model_attach.
#include "api/context_handle.h"
#include "api/model_handle.h"
#include "api/tensor_handle.h"
#include "api/trainer_fields.h"
#include "api/trainer_handle.h"

using namespace troika;
using namespace troika::api;

namespace {

constexpr troika_trainer_options kDefaults = TROIKA_TRAINER_OPTIONS_INIT;
constexpr troika_parameter_group kGroupDefaults = TROIKA_PARAMETER_GROUP_INIT;

}  // namespace

void troika_parameter_group_init(troika_parameter_group* group) {
  if (group) *group = kGroupDefaults;
}

void troika_trainer_options_init(troika_trainer_options* options) {
  if (options) *options = kDefaults;
}

troika_status troika_model_attach(troika_model model, const troika_device* devices, int32_t n,
                                  const troika_trainer_options* options, troika_trainer* out_trainer,
                                  troika_error* error) {
  constexpr const char* kName = "troika_model_attach";
  return guard(error, [&] {
    *required(out_trainer, kName, "out_trainer") = nullptr;
    ModelObject& object = *object_of(model, kName, "model");
    if (n < 1 || n > 1024) throw Error(Status::invalid_argument, text(kName, ": n is ", n, ", need 1 to 1024 devices"));
    required(devices, kName, "devices");
    std::vector<DeviceId> ids;
    for (int32_t i = 0; i < n; ++i) {
      check_device_kind(devices[i], kName);
      ids.push_back(device_id(devices[i]));
    }
    TrainerOptions settings = read_trainer_options(options, "troika_model_attach: options.", object.context->seed());
    Exclusive exclusive(object.model->busy(), kName, "model");
    // The new trainer takes the model over in the last call that can fail.
    auto attached = std::make_shared<TrainerObject>(TrainerObject{object.context, nullptr});
    auto handle = std::make_unique<troika_trainer_s>(attached);
    attached->trainer = std::make_shared<Trainer>(object.context, object.model, std::move(ids), std::move(settings));
    *out_trainer = handle.release();
  });
}
