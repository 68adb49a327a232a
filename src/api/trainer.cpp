// troika_model_attach and troika_trainer_*.
#include <troika/trainer.h>

#include <cmath>
#include <mutex>

#include "api/context_handle.h"
#include "api/data_handles.h"
#include "api/model_handle.h"
#include "api/tensor_handle.h"
#include "train/checkpoint.h"
#include "train/trainer.h"

namespace troika::api {

struct TrainerObject {
  std::shared_ptr<Context> context;
  std::shared_ptr<Trainer> trainer;
};

}  // namespace troika::api

struct troika_trainer_s : troika::api::Handle<troika::api::TrainerObject, 0x54525452> {
  using Handle::Handle;
};

using namespace troika;
using namespace troika::api;

namespace {

constexpr troika_trainer_options kDefaults = TROIKA_TRAINER_OPTIONS_INIT;
constexpr troika_parameter_group kGroupDefaults = TROIKA_PARAMETER_GROUP_INIT;

// One field of the options in its range, or an error that names it.
class FieldCheck {
 public:
  explicit FieldCheck(std::string where) : where_(std::move(where)) {}
  void integer(const char* field, int64_t value, int64_t least, int64_t most) const {
    if (value < least || value > most)
      throw Error(Status::invalid_argument, text(where_, field, " is ", value, ", need ", least, " to ", most));
  }
  void real(const char* field, double value, double least, double below) const {
    if (!(value >= least && value < below))
      throw Error(Status::invalid_argument,
                  text(where_, field, " is ", value, ", need at least ", least, " and below ", below));
  }

 private:
  std::string where_;
};

TrainerOptions read_trainer_options(const troika_trainer_options* given, const Context& context) {
  const troika_trainer_options o = read_options(given, kDefaults, "troika_trainer_options");
  const FieldCheck check("troika_model_attach: options.");
  constexpr double kLarge = 1e30;
  check.integer("loss", o.loss, TROIKA_LOSS_CROSS_ENTROPY, TROIKA_LOSS_MEAN_SQUARED_ERROR);
  check.integer("reduction", o.reduction, TROIKA_REDUCTION_MEAN, TROIKA_REDUCTION_SUM);
  check.integer("precision", o.precision, TROIKA_PRECISION_F32, TROIKA_PRECISION_F32);
  check.real("learning_rate", o.learning_rate, 0, kLarge);
  check.real("momentum", o.momentum, 0, 1);
  check.real("weight_decay", o.weight_decay, 0, kLarge);
  check.integer("nesterov", o.nesterov, 0, 1);
  if (o.nesterov && o.momentum == 0)
    throw Error(Status::invalid_argument, "troika_model_attach: options.nesterov is 1, needs options.momentum above 0");
  check.integer("schedule", o.schedule, TROIKA_SCHEDULE_CONSTANT, TROIKA_SCHEDULE_COSINE);
  check.integer("schedule_period", o.schedule_period, o.schedule == TROIKA_SCHEDULE_CONSTANT ? 0 : 1, INT64_MAX);
  check.real("schedule_gamma", o.schedule_gamma, 0, kLarge);
  check.real("schedule_min", o.schedule_min, 0, kLarge);
  check.integer("warmup_steps", o.warmup_steps, 0, INT64_MAX);
  check.integer("bucket_bytes", o.bucket_bytes, 0, INT64_MAX);
  check.integer("group_count", o.group_count, 0, 4096);
  check.integer("deadline_ms", o.deadline_ms, 1, INT32_MAX);
  check.integer("collect_trace", o.collect_trace, 0, 1);
  check.integer("fuse", o.fuse, 0, 1);

  TrainerOptions options;
  options.loss = static_cast<Loss>(o.loss);
  options.reduction = static_cast<Reduction>(o.reduction);
  options.learning_rate = o.learning_rate;
  options.weight_decay = o.weight_decay;
  options.sgd = {o.momentum, o.nesterov == 1};
  options.schedule = {static_cast<ScheduleKind>(o.schedule), o.schedule_period, o.schedule_gamma, o.schedule_min,
                      o.warmup_steps};
  options.bucket_bytes = o.bucket_bytes;
  options.seed = o.seed ? o.seed : context.seed();
  options.deadline_ms = o.deadline_ms;
  options.collect_trace = o.collect_trace == 1;
  options.fuse = o.fuse == 1;
  if (o.group_count > 0) required(o.groups, "troika_model_attach", "options.groups");
  const auto* bytes = reinterpret_cast<const unsigned char*>(o.groups);
  for (int32_t i = 0; i < o.group_count; ++i) {
    // Each element has the size that it says, so that an old caller's array of smaller structs is walked rightly.
    const auto* at = reinterpret_cast<const troika_parameter_group*>(bytes);
    const auto g = read_options(at, kGroupDefaults, "troika_parameter_group");
    bytes += at->struct_size;
    const std::string where = text("troika_model_attach: options.groups[", i, "].");
    required(g.pattern, "troika_model_attach", text("options.groups[", i, "].pattern").c_str());
    FieldCheck(where).integer("frozen", g.frozen, 0, 1);
    ParameterGroup group{g.pattern, g.frozen == 1, {}, {}};
    if (!(g.learning_rate < 0))
      FieldCheck(where).real("learning_rate", g.learning_rate, 0, kLarge), group.learning_rate = g.learning_rate;
    if (!(g.weight_decay < 0))
      FieldCheck(where).real("weight_decay", g.weight_decay, 0, kLarge), group.weight_decay = g.weight_decay;
    options.groups.push_back(std::move(group));
  }
  return options;
}

// A trainer's call: argument, exclusive use.
struct Call {
  Call(troika_trainer handle, const char* name)
      : object(*object_of(handle, name, "trainer")),
        trainer(*object.trainer),
        exclusive(trainer.busy(), name, "trainer") {}
  TrainerObject& object;
  Trainer& trainer;
  Exclusive exclusive;
};

// Lends a loader to the trainer for a call; the batch that it gave last is gone then.
struct BorrowedLoader {
  BorrowedLoader(troika_loader handle, const char* name)
      : object(*object_of(handle, name, "loader")), exclusive(object.in_use, name, "loader") {
    object.batch.object.reset();
  }
  LoaderObject& object;
  Exclusive exclusive;
};

size_t bytes_argument(int64_t size_bytes, const char* function) {
  if (size_bytes < 0)
    throw Error(Status::invalid_argument,
                text(function, ": argument 'size_bytes' is ", size_bytes, ", needs at least 0"));
  return static_cast<size_t>(size_bytes);
}

void write_metrics(const Metrics& found, troika_metrics* out, const char* function) {
  if (!out) return;
  troika_metrics m{};
  m.loss = found.loss;
  m.accuracy = found.samples ? static_cast<double>(found.correct) / static_cast<double>(found.samples) : 0;
  m.samples = found.samples;
  m.correct = found.correct;
  m.seconds = found.seconds;
  write_result(out, m, function, "out_metrics");
}

std::shared_ptr<Tensor> as_tensor(const Context& context, troika_device device, const Shape& shape,
                                  const std::vector<float>& values, const char* name) {
  auto tensor = Tensor::create(open_device(context, device, name), {DType::f32, shape});
  tensor->write(values.data());
  return tensor;
}

troika_status evaluate(troika_trainer trainer, const troika_device* device, troika_loader loader,
                       troika_metrics* out_metrics, troika_error* error, const char* name) {
  return guard(error, [&] {
    if (out_metrics) result_size(out_metrics, name, "out_metrics");
    Call call(trainer, name);
    BorrowedLoader borrowed(loader, name);
    if (device) check_device_kind(*device, name);
    const DeviceId id = device ? device_id(*device) : DeviceId{};
    Metrics metrics;
    const bool finished = call.trainer.evaluate(borrowed.object.loader, device ? &id : nullptr, metrics);
    write_metrics(metrics, out_metrics, name);
    return finished ? TROIKA_OK : TROIKA_STOPPED;
  });
}

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
    TrainerOptions settings = read_trainer_options(options, *object.context);
    Exclusive exclusive(object.model->busy(), kName, "model");
    // The model changes hands with the last thing that can fail.
    auto attached = std::make_shared<TrainerObject>(TrainerObject{object.context, nullptr});
    auto handle = std::make_unique<troika_trainer_s>(attached);
    attached->trainer = std::make_shared<Trainer>(object.context, object.model, std::move(ids), std::move(settings));
    *out_trainer = handle.release();
  });
}

void troika_trainer_destroy(troika_trainer trainer) { destroy_handle(trainer); }

troika_status troika_trainer_step(troika_trainer trainer, troika_batch batch, troika_step_result* out_result,
                                  troika_error* error) {
  constexpr const char* kName = "troika_trainer_step";
  return guard(error, [&] {
    if (out_result) result_size(out_result, kName, "out_result");
    Call call(trainer, kName);
    StepResult found;
    if (!call.trainer.step(batch_of(batch, kName, "batch"), found)) return TROIKA_STOPPED;
    if (out_result) {
      troika_step_result result{};
      result.loss = found.loss;
      result.samples = found.samples;
      result.correct = found.correct;
      result.step = found.step;
      result.learning_rate = found.learning_rate;
      result.seconds = found.seconds;
      write_result(out_result, result, kName, "out_result");
    }
    return TROIKA_OK;
  });
}

troika_status troika_trainer_set_progress(troika_trainer trainer, troika_progress_function function, void* user,
                                          troika_error* error) {
  return guard(error, [&] {
    Call call(trainer, "troika_trainer_set_progress");
    if (!function) {
      call.trainer.set_progress(nullptr);
      return;
    }
    call.trainer.set_progress([function, user](const Progress& p) {
      troika_progress progress{};
      progress.batch = p.batch;
      progress.batches = p.batches;
      progress.epoch = p.epoch;
      progress.samples = p.samples;
      progress.correct = p.correct;
      progress.loss = p.loss;
      progress.seconds = p.seconds;
      progress.training = p.is_training ? 1 : 0;
      return function(&progress, user) == 0;
    });
  });
}

troika_status troika_trainer_train_epoch(troika_trainer trainer, troika_loader loader, troika_metrics* out_metrics,
                                         troika_error* error) {
  constexpr const char* kName = "troika_trainer_train_epoch";
  return guard(error, [&] {
    if (out_metrics) result_size(out_metrics, kName, "out_metrics");
    Call call(trainer, kName);
    BorrowedLoader borrowed(loader, kName);
    Metrics metrics;
    const bool finished = call.trainer.train_epoch(borrowed.object.loader, metrics);
    write_metrics(metrics, out_metrics, kName);
    return finished ? TROIKA_OK : TROIKA_STOPPED;
  });
}

troika_status troika_trainer_evaluate(troika_trainer trainer, troika_loader loader, troika_metrics* out_metrics,
                                      troika_error* error) {
  return evaluate(trainer, nullptr, loader, out_metrics, error, "troika_trainer_evaluate");
}

troika_status troika_trainer_evaluate_on(troika_trainer trainer, troika_device device, troika_loader loader,
                                         troika_metrics* out_metrics, troika_error* error) {
  return evaluate(trainer, &device, loader, out_metrics, error, "troika_trainer_evaluate_on");
}

troika_status troika_trainer_predict(troika_trainer trainer, troika_tensor input, troika_tensor* out_output,
                                     troika_error* error) {
  constexpr const char* kName = "troika_trainer_predict";
  return guard(error, [&] {
    *required(out_output, kName, "out_output") = nullptr;
    Call call(trainer, kName);
    const Tensor& x = *object_of(input, kName, "input")->tensor;
    if (x.type().dtype != DType::f32)
      throw Error(Status::invalid_argument, text(kName, ": input is ", name_of(x.type().dtype), ", needs f32"));
    std::vector<float> host(static_cast<size_t>(x.type().shape.elements())), output;
    x.read(host.data());
    const Shape shape = call.trainer.predict(x.type().shape, host.data(), output);
    const DeviceId first = call.trainer.devices()[0];
    auto result =
        as_tensor(*call.object.context, {static_cast<int32_t>(first.kind), first.index}, shape, output, kName);
    *out_output =
        new troika_tensor_s(std::make_shared<TensorObject>(TensorObject{call.object.context, std::move(result)}));
  });
}

troika_status troika_trainer_request_stop(troika_trainer trainer, troika_error* error) {
  return guard(error, [&] { object_of(trainer, "troika_trainer_request_stop", "trainer")->trainer->request_stop(); });
}

troika_status troika_trainer_set_learning_rate(troika_trainer trainer, int32_t group, double learning_rate,
                                               troika_error* error) {
  return guard(error, [&] {
    Call(trainer, "troika_trainer_set_learning_rate").trainer.set_learning_rate(group, learning_rate);
  });
}

troika_status troika_trainer_get_learning_rate(troika_trainer trainer, int32_t group, double* out_learning_rate,
                                               troika_error* error) {
  return guard(error, [&] {
    Call call(trainer, "troika_trainer_get_learning_rate");
    *required(out_learning_rate, "troika_trainer_get_learning_rate", "out_learning_rate") =
        call.trainer.learning_rate(group);
  });
}

troika_status troika_trainer_get_parameter(troika_trainer trainer, const char* name, troika_device device, void* data,
                                           int64_t size_bytes, troika_error* error) {
  constexpr const char* kName = "troika_trainer_get_parameter";
  return guard(error, [&] {
    Call call(trainer, kName);
    check_device_kind(device, kName);
    call.trainer.read_parameter(required(name, kName, "name"), device_id(device), required(data, kName, "data"),
                                bytes_argument(size_bytes, kName));
  });
}

troika_status troika_trainer_get_gradient(troika_trainer trainer, const char* name, float* data, int64_t size_bytes,
                                          troika_error* error) {
  constexpr const char* kName = "troika_trainer_get_gradient";
  return guard(error, [&] {
    Call call(trainer, kName);
    call.trainer.read_gradient(required(name, kName, "name"), required(data, kName, "data"),
                               bytes_argument(size_bytes, kName));
  });
}

troika_status troika_trainer_check_replicas(troika_trainer trainer, troika_error* error) {
  return guard(error, [&] { Call(trainer, "troika_trainer_check_replicas").trainer.check_replicas(); });
}

troika_status troika_trainer_save(troika_trainer trainer, const char* path, troika_error* error) {
  return guard(error, [&] {
    Call call(trainer, "troika_trainer_save");
    save_checkpoint(call.trainer, required(path, "troika_trainer_save", "path"));
  });
}

troika_status troika_trainer_load(troika_trainer trainer, const char* path, troika_loader_position* out_position,
                                  troika_error* error) {
  return guard(error, [&] {
    Call call(trainer, "troika_trainer_load");
    load_checkpoint(call.trainer, required(path, "troika_trainer_load", "path"));
    const BatchPosition at = call.trainer.state().position;
    if (out_position) *out_position = {at.epoch, at.batch, at.batches};
  });
}

troika_status troika_trainer_unwrap(troika_trainer trainer, troika_model* out_model, troika_error* error) {
  constexpr const char* kName = "troika_trainer_unwrap";
  return guard(error, [&] {
    *required(out_model, kName, "out_model") = nullptr;
    Call call(trainer, kName);
    call.trainer.require_attached();
    *out_model = new troika_model_s(
        std::make_shared<ModelObject>(ModelObject{call.object.context, call.trainer.model(), nullptr}));
  });
}

troika_status troika_trainer_memory(troika_trainer trainer, int32_t replica, troika_memory_info* out_info,
                                    troika_error* error) {
  constexpr const char* kName = "troika_trainer_memory";
  return guard(error, [&] {
    Call call(trainer, kName);
    const Trainer& t = call.trainer;
    if (replica < 0 || static_cast<size_t>(replica) >= t.replica_count())
      throw Error(Status::not_found,
                  text(kName, ": replica is ", replica, ", there are ", t.replica_count(), ", from 0"));
    const Replica& r = t.replica(static_cast<size_t>(replica));
    troika_memory_info info{};
    info.plans = static_cast<int32_t>(r.plan_count());
    info.arena_bytes = static_cast<int64_t>(r.arena_bytes());
    info.parameter_bytes = static_cast<int64_t>(t.state_table().segment_bytes(Segment::parameters));
    info.gradient_bytes = static_cast<int64_t>(t.state_table().segment_bytes(Segment::gradients));
    info.optimizer_bytes = static_cast<int64_t>(t.state_table().segment_bytes(Segment::optimizer));
    write_result(out_info, info, kName, "out_info");
  });
}

troika_status troika_trainer_explain(troika_trainer trainer, int64_t batch, char* buffer, int64_t capacity,
                                     int64_t* out_size, troika_error* error) {
  return guard(error, [&] {
    Call call(trainer, "troika_trainer_explain");
    write_text(call.trainer.explain(batch), buffer, capacity, out_size, "troika_trainer_explain");
  });
}

troika_status troika_trainer_trace(troika_trainer trainer, char* buffer, int64_t capacity, int64_t* out_size,
                                   troika_error* error) {
  return guard(error, [&] {
    Call call(trainer, "troika_trainer_trace");
    write_text(call.trainer.trace(), buffer, capacity, out_size, "troika_trainer_trace");
  });
}
