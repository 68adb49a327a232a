// Parameters and gradients of a trainer on its devices.
#include "train/state_reader.h"

#include <algorithm>
#include <cstring>

#include "core/text.h"

namespace troika {

void read_parameter(Trainer& trainer, const std::string& name, DeviceId device, void* data, size_t bytes) {
  trainer.require_attached();
  ParameterStore& store = *trainer.model()->parameters();
  const Parameter& p = store.entry(store.index_of(name));
  const RankMap& map = trainer.layout().ranks();
  std::vector<DeviceId> holders;
  int found = -1;
  for (int share = 0; share < map.shares(); ++share)
    for (int part : trainer.layout().holders_of(name)) {
      const int rank = map.rank_of(share, part);
      if (!trainer.ranks().holds(rank)) continue;
      holders.push_back(trainer.ranks().at(rank).device_id());
      if (found < 0 && holders.back() == device) found = rank;
    }
  if (found < 0)
    throw Error(Status::not_on_device, text("parameter '", name, "' is not on ", device, "; ",
                                            map.parts() == 1 ? text("model '", trainer.model()->name(), "'") : "it",
                                            " is on ", join(holders, ", ")));
  if (bytes != p.type.bytes())
    throw Error(Status::invalid_argument, text("parameter '", name, "': buffer has ", bytes, " bytes, ",
                                               name_of(p.type.dtype), p.type.shape, " needs ", p.type.bytes()));
  if (!trainer.sync().is_uploaded()) {  // the host's copy is the newest
    trainer.refresh_store();
    std::lock_guard lock(store.mutex());
    std::memcpy(data, p.data.data(), bytes);
    return;
  }
  trainer.state().read_from(found, p.is_buffer ? Role::buffer : Role::parameter, name, data);
}

namespace {

// Throws unless the parameter has a gradient of so many bytes.
void check_gradient(Trainer& trainer, const std::string& name, size_t bytes) {
  ParameterStore& store = *trainer.model()->parameters();
  const Parameter& p = store.entry(store.index_of(name));
  if (std::find(trainer.trainable().begin(), trainer.trainable().end(), name) == trainer.trainable().end())
    throw Error(Status::not_initialized,
                text("parameter '", name, "' is ", p.is_buffer ? "a buffer" : "frozen", " and has no gradient"));
  if (bytes != p.type.bytes())
    throw Error(Status::invalid_argument, text("gradient of '", name, "': buffer has ", bytes, " bytes, f32",
                                               p.type.shape, " needs ", p.type.bytes()));
}

}  // namespace

void read_gradient(Trainer& trainer, const std::string& name, float* data, size_t bytes) {
  trainer.require_attached();
  check_gradient(trainer, name, bytes);
  if (!trainer.stepper().has_gradients())
    throw Error(Status::not_initialized, text("gradient of '", name, "' has no value: there was no step since the trainer was"
                                               " attached or loaded, or since its frozen groups changed"));
  trainer.pieces().upload_gradients();
  trainer.state().read(Role::gradient, name, data);
  if (const float scale = trainer.stepper().gradient_scale(); scale != 1)
    for (size_t i = 0; i < bytes / sizeof(float); ++i) data[i] /= scale;
}

void write_gradient(Trainer& trainer, const std::string& name, const float* data, size_t bytes) {
  trainer.check_usable();
  check_gradient(trainer, name, bytes);
  trainer.pieces().require_gradients("set_gradient");
  const float scale = trainer.stepper().gradient_scale();
  std::vector<float> scaled(data, data + bytes / sizeof(float));
  for (float& number : scaled) number *= scale;
  trainer.pieces().set_gradient(name, std::move(scaled));
}

}  // namespace troika
