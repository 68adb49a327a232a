// Descriptions of trainers, as structs and as JSON.
#include <troika/describe.h>

#include "api/context_handle.h"
#include "api/json_text.h"
#include "api/structs.h"
#include "api/trainer_handle.h"

using namespace troika;
using namespace troika::api;

namespace {

// Runs `body` with the object of the handle. Other calls on the trainer get BUSY until it returns.
template <typename Body>
troika_status with_trainer(troika_trainer handle, const char* function, troika_error* error, Body&& body) {
  return guard(error, [&] {
    const auto object = object_of(handle, function, "trainer");
    const Exclusive exclusive(object->trainer->busy(), function, "trainer");
    body(*object);
  });
}

bool is_usable(const Trainer& trainer) {
  try {
    trainer.check_usable();
    return true;
  } catch (const Error&) {
    return false;
  }
}

troika_trainer_info info_of(const TrainerObject& object) {
  Trainer& trainer = *object.trainer;
  troika_trainer_info info{};
  info.device_count = static_cast<int32_t>(trainer.devices().size());
  info.mesh = object.options.get().mesh;
  info.step = trainer.stepper().step();
  info.learning_rate = trainer.learning_rate(-1);
  info.loss_scale = trainer.stepper().loss_scale();
  const ParameterStore& store = *trainer.model()->parameters();
  info.trained_entries = static_cast<int32_t>(trainer.trainable().size());
  for (const std::string& name : trainer.trainable())
    info.trained_elements += store.entry(store.index_of(name)).type.shape.elements();
  info.is_usable = is_usable(trainer);
  return info;
}

JsonText unless_unset(double value) { return value == TROIKA_UNSET ? JsonText() : json_text(value); }

JsonText text_or_null(const char* value) { return value ? json_text(value) : JsonText(); }

// The names of constants with the values 1, 2, ...
template <size_t kCount>
const char* constant(int32_t value, const char* const (&names)[kCount]) {
  return names[static_cast<size_t>(value) - 1];
}

JsonText json_of(const troika_mesh& mesh) {
  return JsonObject().add("data", mesh.data).add("layer", mesh.layer).add("channel", mesh.channel).text();
}

JsonText json_of(const troika_parameter_group& g) {
  const auto unless_negative = [](double value) { return value < 0 ? JsonText() : json_text(value); };
  return JsonObject()
      .add("pattern", g.pattern)
      .add("frozen", g.frozen)
      .add("learning_rate", unless_negative(g.learning_rate))
      .add("weight_decay", unless_negative(g.weight_decay))
      .add("momentum", unless_unset(g.momentum))
      .add("beta1", unless_unset(g.beta1))
      .add("beta2", unless_unset(g.beta2))
      .add("eps", unless_unset(g.eps))
      .add("alpha", unless_unset(g.alpha))
      .add("trust", unless_unset(g.trust))
      .text();
}

// Every field, under its own name. Constants have their names, unset fields are null.
JsonText json_of(const troika_trainer_options& o, const GroupObject* group) {
  std::vector<JsonText> groups;
  for (int32_t i = 0; i < o.group_count; ++i) groups.push_back(json_of(o.groups[i]));
  JsonObject json;
  json.add("loss", name_of(static_cast<Loss>(o.loss)));
  json.add("reduction", constant(o.reduction, {"mean", "sum"}));
  json.add("precision", constant(o.precision, {"f32", "tf32", "bf16", "f16"}));
  json.add("optimizer", all_optimizers()[static_cast<size_t>(o.optimizer - 1)]->name);
  json.add("learning_rate", o.learning_rate);
  json.add("momentum", o.momentum);
  json.add("weight_decay", o.weight_decay);
  json.add("nesterov", o.nesterov);
  json.add("skip_decay_one_axis", o.skip_decay_one_axis);
  json.add("beta1", unless_unset(o.beta1));
  json.add("beta2", unless_unset(o.beta2));
  json.add("eps", unless_unset(o.eps));
  json.add("alpha", unless_unset(o.alpha));
  json.add("trust", unless_unset(o.trust));
  json.add("average_decay", o.average_decay);
  json.add("evaluate_parameters", o.evaluate_parameters);
  json.add("schedule", constant(o.schedule, {"constant", "step", "cosine", "multi_step", "exponential", "polynomial",
                                             "one_cycle", "plateau", "table"}));
  json.add("schedule_period", o.schedule_period);
  json.add("schedule_gamma", o.schedule_gamma);
  json.add("schedule_min", o.schedule_min);
  json.add("schedule_maximize", o.schedule_maximize);
  json.add("schedule_power", o.schedule_power);
  json.add("schedule_rise", o.schedule_rise);
  json.add("schedule_divisor", o.schedule_divisor);
  json.add("schedule_final_divisor", o.schedule_final_divisor);
  json.add("schedule_threshold", o.schedule_threshold);
  json.add("schedule_patience", o.schedule_patience);
  json.add("schedule_milestones",
           std::vector<int64_t>(o.schedule_milestones, o.schedule_milestones + o.schedule_milestone_count));
  json.add("schedule_table", std::vector<double>(o.schedule_table, o.schedule_table + o.schedule_table_count));
  json.add("warmup_steps", o.warmup_steps);
  json.add("bucket_bytes", o.bucket_bytes);
  json.add("seed", o.seed);
  json.add("groups", groups);
  json.add("deadline_ms", o.deadline_ms);
  json.add("collect_trace", o.collect_trace);
  json.add("no_fusion", o.no_fusion);
  json.add("loss_scale", o.loss_scale);
  json.add("loss_scale_interval", o.loss_scale_interval);
  json.add("micro_batches", o.micro_batches);
  json.add("logical_shards", o.logical_shards);
  json.add("mesh", json_of(o.mesh));
  json.add("shares", std::vector<double>(o.shares, o.shares + o.share_count));
  json.add("layer_schedule", constant(o.layer_schedule, {"gpipe", "1f1b", "interleaved"}));
  json.add("layer_chunks", o.layer_chunks);
  json.add("layer_cuts", text_or_null(o.layer_cuts));
  json.add("recompute_segments", o.recompute_segments);
  json.add("recompute_layers", text_or_null(o.recompute_layers));
  json.add("activation_budget_bytes", o.activation_budget_bytes);
  json.add("sync_batch_norm", o.sync_batch_norm);
  json.add("max_gradient_norm", o.max_gradient_norm);
  json.add("shard_optimizer", o.shard_optimizer);
  json.add("gradient_compression", constant(o.gradient_compression, {"none", "bf16"}));
  json.add("samples_on_host", o.samples_on_host);
  json.add("launches_in_turn", o.launches_in_turn);
  json.add("label_smoothing", o.label_smoothing);
  json.add("class_weights", std::vector<double>(o.class_weights, o.class_weights + o.class_weight_count));
  json.add("sample_weights", o.sample_weights);
  json.add("huber_delta", o.huber_delta);
  json.add("ignore_index", o.ignore_index == TROIKA_UNSET ? JsonText() : json_text(o.ignore_index));
  json.add("skip_not_finite", o.skip_not_finite);
  json.add("late_updates", o.late_updates);
  json.add("group", group ? JsonObject().add("rank", group->group.rank()).add("size", group->group.size()).text()
                          : JsonText());
  return json.text();
}

JsonText json_of(const TrainerObject& object) {
  const Trainer& trainer = *object.trainer;
  const troika_trainer_info info = info_of(object);
  std::vector<std::string> devices;
  for (const DeviceId& id : trainer.devices()) devices.push_back(to_string(id));
  return JsonObject()
      .add("model", trainer.model()->name())
      .add("devices", devices)
      .add("mesh", json_of(info.mesh))
      .add("step", info.step)
      .add("learning_rate", info.learning_rate)
      .add("loss_scale", info.loss_scale)
      .add("trained_elements", info.trained_elements)
      .add("trained_entries", info.trained_entries)
      .add("is_usable", info.is_usable == 1)
      .add("options", json_of(object.options.get(), object.group.get()))
      .text();
}

}  // namespace

troika_status troika_trainer_describe(troika_trainer trainer, troika_trainer_info* out_info, troika_error* error) {
  constexpr const char* kName = "troika_trainer_describe";
  return with_trainer(trainer, kName, error,
                      [&](TrainerObject& object) { write_result(out_info, info_of(object), kName, "out_info"); });
}

troika_status troika_trainer_get_devices(troika_trainer trainer, troika_device* devices, int32_t device_capacity,
                                         int32_t* out_device_count, troika_error* error) {
  constexpr const char* kName = "troika_trainer_get_devices";
  return with_trainer(trainer, kName, error, [&](TrainerObject& object) {
    if (device_capacity < 0 || (device_capacity > 0 && !devices))
      throw Error(Status::invalid_argument, text(kName, ": device_capacity is ", device_capacity,
                                                 ", need 0 with NULL or an array of that many devices"));
    const std::vector<DeviceId>& ids = object.trainer->devices();
    for (size_t i = 0; i < std::min(ids.size(), static_cast<size_t>(device_capacity)); ++i)
      devices[i] = {static_cast<int32_t>(ids[i].kind), ids[i].index};
    if (out_device_count) *out_device_count = static_cast<int32_t>(ids.size());
  });
}

troika_status troika_trainer_get_options(troika_trainer trainer, troika_trainer_options* out_options,
                                         troika_error* error) {
  constexpr const char* kName = "troika_trainer_get_options";
  return with_trainer(trainer, kName, error, [&](TrainerObject& object) {
    write_result(out_options, object.options.get(), kName, "out_options");
  });
}

troika_status troika_trainer_to_json(troika_trainer trainer, char* buffer, int64_t capacity, int64_t* out_size,
                                     troika_error* error) {
  constexpr const char* kName = "troika_trainer_to_json";
  return with_trainer(trainer, kName, error, [&](TrainerObject& object) {
    write_text(json_of(object).text, buffer, capacity, out_size, kName);
  });
}
