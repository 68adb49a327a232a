// troika_trainer_*, except attaching, files, traces and steps that run while the host goes on.
#include "api/context_handle.h"
#include "api/field_check.h"
#include "api/host_call.h"
#include "api/model_handle.h"
#include "api/step_result.h"
#include "api/structs.h"
#include "api/tensor_handle.h"
#include "api/trainer_call.h"
#include "api/user_data.h"
#include "train/predict_rows.h"
#include "train/state_reader.h"

using namespace troika;
using namespace troika::api;

namespace {

void write_metrics(const Metrics& found, troika_metrics* out, const char* function) {
  if (!out) return;
  troika_metrics m{};
  m.loss = found.loss;
  m.accuracy = found.labels ? static_cast<double>(found.correct) / static_cast<double>(found.labels) : 0;
  m.samples = found.samples;
  m.labels = found.labels;
  m.correct = found.correct;
  m.seconds = found.seconds;
  m.skipped_steps = found.skipped_steps;
  write_result(out, m, function, "out_metrics");
}

void check_option(int32_t option, const char* function) {
  FieldCheck(text(function, ": "))
      .constant("option", option,
                {"TROIKA_OPTION_LEARNING_RATE", "TROIKA_OPTION_WEIGHT_DECAY", "TROIKA_OPTION_MOMENTUM",
                 "TROIKA_OPTION_NESTEROV", "TROIKA_OPTION_BETA1", "TROIKA_OPTION_BETA2", "TROIKA_OPTION_EPS",
                 "TROIKA_OPTION_ALPHA", "TROIKA_OPTION_TRUST", "TROIKA_OPTION_FROZEN"});
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
    const bool finished = call.trainer.evaluate(borrowed.object->loader, device ? &id : nullptr, metrics);
    write_metrics(metrics, out_metrics, name);
    return finished ? TROIKA_OK : TROIKA_STOPPED;
  });
}

}  // namespace

void troika_trainer_destroy(troika_trainer trainer) { destroy_handle(trainer); }

troika_status troika_trainer_step(troika_trainer trainer, troika_batch batch, troika_step_result* out_result,
                                  troika_error* error) {
  constexpr const char* kName = "troika_trainer_step";
  return guard(error, [&] {
    if (out_result) result_size(out_result, kName, "out_result");
    Call call(trainer, kName);
    const auto hold = batch_of(batch, kName, "batch");
    StepResult found;
    if (!call.trainer.step(*hold, found, out_result != nullptr)) return TROIKA_STOPPED;
    write_step_result(found, out_result, kName);
    return found.is_skipped ? TROIKA_STEP_SKIPPED : TROIKA_OK;
  });
}

troika_status troika_trainer_set_progress(troika_trainer trainer, troika_progress_function function, void* user,
                                          troika_destroy_function user_destroy, troika_error* error) {
  return guard(error, [&] {
    Call call(trainer, "troika_trainer_set_progress");
    const auto data = std::make_shared<UserData>(user);
    if (!function) {
      call.trainer.set_progress(nullptr);
      data->destroy = user_destroy;
      return;
    }
    call.trainer.set_progress([function, data](const Progress& p) {
      troika_progress progress{};
      progress.struct_size = sizeof progress;
      progress.batch = p.batch;
      progress.batches = p.batches;
      progress.epoch = p.epoch;
      progress.samples = p.samples;
      progress.labels = p.labels;
      progress.correct = p.correct;
      progress.loss = p.loss;
      progress.seconds = p.seconds;
      progress.training = p.is_training ? 1 : 0;
      progress.skipped = p.is_skipped ? 1 : 0;
      progress.batch_loss = p.batch_loss;
      progress.batch_samples = p.batch_samples;
      progress.batch_labels = p.batch_labels;
      progress.batch_correct = p.batch_correct;
      progress.learning_rate = p.learning_rate;
      progress.wait_seconds = p.wait_seconds;
      return call_host("the progress callback", [&] { return function(&progress, data->data); }) == 0;
    });
    data->destroy = user_destroy;  // a call that failed leaves the data to the caller
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
    const bool finished = call.trainer.train_epoch(borrowed.object->loader, metrics);
    write_metrics(metrics, out_metrics, kName);
    return finished ? TROIKA_OK : TROIKA_STOPPED;
  });
}

troika_status troika_trainer_divide_loader(troika_trainer trainer, troika_loader loader, troika_error* error) {
  constexpr const char* kName = "troika_trainer_divide_loader";
  return guard(error, [&] {
    const Call call(trainer, kName);
    const BorrowedLoader borrowed(loader, kName);
    borrowed.object->loader.divide(call.trainer.peers().division());
  });
}

troika_status troika_trainer_train_batches(troika_trainer trainer, troika_loader loader, int64_t batches,
                                           troika_metrics* out_metrics, troika_error* error) {
  constexpr const char* kName = "troika_trainer_train_batches";
  return guard(error, [&] {
    if (out_metrics) result_size(out_metrics, kName, "out_metrics");
    if (batches < 1) throw Error(Status::invalid_argument, text(kName, ": batches is ", batches, ", need at least 1"));
    Call call(trainer, kName);
    BorrowedLoader borrowed(loader, kName);
    Metrics metrics;
    const PassEnd end = call.trainer.train(borrowed.object->loader, batches, metrics);
    write_metrics(metrics, out_metrics, kName);
    switch (end) {
      case PassEnd::end_of_epoch: return TROIKA_END_OF_DATA;
      case PassEnd::limit: return TROIKA_OK;
      case PassEnd::stopped: break;
    }
    return TROIKA_STOPPED;
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
    const auto hold = object_of(input, kName, "input");
    const Tensor& x = *hold->tensor;
    check_input_type(x.type().dtype, *call.trainer.model(), kName);
    std::vector<std::byte> host(x.type().bytes());
    std::vector<float> output;
    x.read(host.data());
    const Shape shape = predict_inputs(call.trainer, x.type(), host.data(), output);
    auto result = new_tensor(call, shape, kName);
    result->object->tensor->write(output.data());
    *out_output = result.release();
  });
}

troika_status troika_trainer_request_stop(troika_trainer trainer, troika_error* error) {
  return guard(error, [&] {
    const auto object = object_of(trainer, "troika_trainer_request_stop", "trainer");
    object->trainer->request_stop();
  });
}

troika_status troika_trainer_clear_stop(troika_trainer trainer, troika_error* error) {
  return guard(error, [&] {
    const auto object = object_of(trainer, "troika_trainer_clear_stop", "trainer");
    object->trainer->clear_stop();
  });
}

troika_status troika_trainer_set_learning_rate(troika_trainer trainer, int32_t group, double learning_rate,
                                               troika_error* error) {
  return guard(error, [&] {
    Call(trainer, "troika_trainer_set_learning_rate").trainer.set(group, Setting::learning_rate, learning_rate);
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

troika_status troika_trainer_set_option(troika_trainer trainer, int32_t group, int32_t option, double value,
                                        troika_error* error) {
  constexpr const char* kName = "troika_trainer_set_option";
  return guard(error, [&] {
    Call call(trainer, kName);
    check_option(option, kName);
    if (option != TROIKA_OPTION_FROZEN) return call.trainer.set(group, static_cast<Setting>(option), value);
    if (value != 0 && value != 1)
      throw Error(Status::invalid_argument, text(kName, ": frozen is ", value, ", needs 0 or 1"));
    call.trainer.set_frozen(group, value == 1);
  });
}

troika_status troika_trainer_get_option(troika_trainer trainer, int32_t group, int32_t option, double* out_value,
                                        troika_error* error) {
  constexpr const char* kName = "troika_trainer_get_option";
  return guard(error, [&] {
    Call call(trainer, kName);
    check_option(option, kName);
    *required(out_value, kName, "out_value") = option == TROIKA_OPTION_FROZEN
                                                   ? static_cast<double>(call.trainer.is_frozen(group))
                                                   : call.trainer.get(group, static_cast<Setting>(option));
  });
}

troika_status troika_trainer_report_metric(troika_trainer trainer, double metric, troika_error* error) {
  return guard(error, [&] {
    Call call(trainer, "troika_trainer_report_metric");
    call.trainer.check_usable();
    call.trainer.stepper().settings().report(metric);
  });
}

troika_status troika_trainer_get_parameter(troika_trainer trainer, const char* name, troika_device device, void* data,
                                           int64_t size_bytes, troika_error* error) {
  constexpr const char* kName = "troika_trainer_get_parameter";
  return guard(error, [&] {
    Call call(trainer, kName);
    check_device_kind(device, kName);
    read_parameter(call.trainer, parameter_argument(call, name, kName), device_id(device),
                   required(data, kName, "data"), bytes_argument(size_bytes, kName));
  });
}

troika_status troika_trainer_get_gradient(troika_trainer trainer, const char* name, float* data, int64_t size_bytes,
                                          troika_error* error) {
  constexpr const char* kName = "troika_trainer_get_gradient";
  return guard(error, [&] {
    Call call(trainer, kName);
    read_gradient(call.trainer, parameter_argument(call, name, kName), required(data, kName, "data"),
                  bytes_argument(size_bytes, kName));
  });
}

troika_status troika_trainer_check_replicas(troika_trainer trainer, troika_error* error) {
  return guard(error, [&] { Call(trainer, "troika_trainer_check_replicas").trainer.check_replicas(); });
}

troika_status troika_trainer_unwrap(troika_trainer trainer, troika_model* out_model, troika_error* error) {
  constexpr const char* kName = "troika_trainer_unwrap";
  return guard(error, [&] {
    *required(out_model, kName, "out_model") = nullptr;
    Call call(trainer, kName);
    call.trainer.require_attached();
    *out_model = new troika_model_s(std::make_shared<ModelObject>(call.object->context, call.trainer.model()));
  });
}

troika_status troika_trainer_memory(troika_trainer trainer, int32_t replica, troika_memory_info* out_info,
                                    troika_error* error) {
  constexpr const char* kName = "troika_trainer_memory";
  return guard(error, [&] {
    Call call(trainer, kName);
    const Trainer& t = call.trainer;
    const int ranks = t.layout().ranks().size();
    if (replica < 0 || replica >= ranks)
      throw Error(Status::not_found, text(kName, ": replica is ", replica, ", there are ", ranks, ", from 0"));
    const Replica& r = t.ranks().at(replica);
    const StateTable& state = t.state().table_of(replica);
    troika_memory_info info{};
    info.plans = static_cast<int32_t>(r.plan_count());
    info.arena_bytes = static_cast<int64_t>(r.arena_bytes());
    info.parameter_bytes =
        static_cast<int64_t>(state.segment_bytes(Segment::parameters) + r.state_memory().copy_bytes());
    info.gradient_bytes =
        static_cast<int64_t>(state.segment_bytes(Segment::gradients) + r.state_memory().set_aside_bytes());
    info.optimizer_bytes =
        static_cast<int64_t>(state.segment_bytes(Segment::optimizer, t.layout().ranks().share_of(replica)));
    info.sample_bytes = static_cast<int64_t>(r.sample_bytes());
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
