// troika_model_attach.
#include "api/context_handle.h"
#include "api/model_handle.h"
#include "api/structs.h"
#include "api/tensor_handle.h"
#include "api/trainer_fields.h"
#include "api/trainer_handle.h"
#include "train/world.h"

using namespace troika;
using namespace troika::api;

troika_status troika_model_attach(troika_model model, const troika_device* devices, int32_t device_count,
                                  const troika_trainer_options* options, troika_trainer* out_trainer,
                                  troika_error* error) {
  constexpr const char* kName = "troika_model_attach";
  return guard(error, [&] {
    *required(out_trainer, kName, "out_trainer") = nullptr;
    const auto object = object_of(model, kName, "model");
    if (device_count < 1 || device_count > 1024)
      throw Error(Status::invalid_argument,
                  text(kName, ": device_count is ", device_count, ", need 1 to 1024 devices"));
    required(devices, kName, "devices");
    std::vector<DeviceId> ids;
    for (int32_t i = 0; i < device_count; ++i) {
      check_device_kind(devices[i], kName);
      ids.push_back(device_id(devices[i]));
    }
    TrainerOptions settings = read_trainer_options(options, "troika_model_attach: options.", object->context->seed());
    settings.left_out = object->context->left_out();
    Exclusive exclusive(object->model->busy(), kName, "model");
    add_shared_names(settings, *object->model->parameters());
    // The new trainer takes the model over in the last call that can fail.
    auto attached = std::make_shared<TrainerObject>(object->context, options);
    auto handle = std::make_unique<troika_trainer_s>(attached);
    LocalDevices devices_of_all(ids);
    if (const troika_group group = read_options(options).group) {
      const auto processes = object_of(group, kName, "options.group");
      attached->group = processes.shared();
      devices_of_all = join_world(*object->context, attached->group->group, *object->model, ids, settings);
    }
    const std::shared_ptr<Exchange> exchange = devices_of_all.exchange;
    const std::shared_ptr<SharedLink> link = devices_of_all.link;  // its end would wait for the other processes
    try {
      attached->trainer =
          std::make_shared<Trainer>(object->context, object->model, std::move(devices_of_all), std::move(settings));
    } catch (const std::exception& e) {
      if (exchange) exchange->abort(e.what());  // the other processes do not wait for this one
      throw;
    }
    attached->options.resolve(*attached->trainer);
    *out_trainer = handle.release();
  });
}
