/** @file trainer.hpp Trainers: a model attached to devices. */
#ifndef TROIKA_TRAINER_HPP
#define TROIKA_TRAINER_HPP

#include <troika/data.hpp>
#include <troika/model.hpp>
#include <troika/pending.hpp>

#if __has_include(<stop_token>)
#include <stop_token>
#endif

namespace troika {
inline namespace v1 {
namespace detail {

/** The exception of a progress callback, on its way through a call of this thread. */
inline std::exception_ptr& progress_exception() noexcept {
  static thread_local std::exception_ptr exception;
  return exception;
}

inline std::int32_t TROIKA_CALL call_progress(const troika_progress* progress, void* user) {
  try {
    return (*static_cast<const ProgressFunction*>(user))(convert<Progress>(*progress)) ? 1 : 0;
  } catch (...) {
    progress_exception() = std::current_exception();
    return 1;
  }
}

}  // namespace detail

/** The output of a forward pass, and its result. */
struct ForwardResult {
  Tensor output;      // closed if it was not wanted
  StepResult result;  // loss, samples, labels, correct and seconds
};

/** The predictions of an epoch of a loader, in the loader's order. */
struct Predictions {
  Status status = Status::ok;  // Status::stopped: only the first samples were predicted
  std::int64_t samples = 0;
  std::vector<float> outputs;  // [samples, the output's shape]; empty if the caller's memory was used
};

/**
 * A model attached to a list of devices, made by `Model::attach`.
 *
 * Threads: one call at a time, from any thread; a second one throws Error with busy, also from the
 * trainer's own callback. `request_stop` and `clear_stop` may be called from any thread at any
 * time.
 *
 * Calls that were stopped return normally, with Status::stopped in their result. Every call may
 * throw Error with detached or comm, after which the trainer cannot be used.
 */
class Trainer : public Object<troika_trainer> {
 public:
  Trainer() noexcept = default;
  explicit Trainer(troika_trainer owned) noexcept : Object(owned) {}

  // Training and evaluation.

  /** Trains on one batch. The status is also step_skipped if a gradient was not finite. */
  StepResult step(const Batch& batch) {
    return detail::fill<StepResult>(troika_trainer_step, detail::handle_of(*this), detail::handle_of(batch));
  }

  /**
   * Begins a step and returns at once. At most 64 may wait; other calls throw Error with busy until
   * they have ended. The batch may end or change meanwhile.
   */
  Pending step_async(const Batch& batch, DoneFunction done = nullptr) {
    const troika_trainer trainer = detail::handle_of(*this);
    if (!done)
      return Pending(detail::make<troika_pending>(troika_trainer_step_async, trainer, detail::handle_of(batch),
                                                  static_cast<troika_done_function>(nullptr),
                                                  static_cast<void*>(nullptr)));
    auto user = std::make_unique<detail::DoneUser>();
    user->function = std::move(done);
    std::future<void> ended = user->ended.get_future();
    // The step may end, and end the user, before the call returns; a call that fails does not.
    detail::DoneUser* const owned = user.release();
    try {
      return Pending(detail::make<troika_pending>(troika_trainer_step_async, trainer, detail::handle_of(batch),
                                                  &detail::call_done, static_cast<void*>(owned)),
                     std::move(ended));
    } catch (...) {
      delete owned;
      throw;
    }
  }

  /**
   * Sets the function that receives the progress after each batch of calls that take a loader; NULL
   * removes it. It may return nothing, or true to stop the call.
   */
  void set_progress(std::nullptr_t) {
    detail::call(troika_trainer_set_progress, detail::handle_of(*this), static_cast<troika_progress_function>(nullptr),
                 static_cast<void*>(nullptr), static_cast<troika_destroy_function>(nullptr));
  }
  template <typename Function>
  void set_progress(Function function) {
    std::unique_ptr<ProgressFunction> user;
    if constexpr (std::is_void_v<std::invoke_result_t<Function&, const Progress&>>)
      user = std::make_unique<ProgressFunction>([f = std::move(function)](const Progress& progress) mutable {
        f(progress);
        return false;
      });
    else
      user = std::make_unique<ProgressFunction>(std::move(function));
    detail::call(troika_trainer_set_progress, detail::handle_of(*this), &detail::call_progress,
                 static_cast<void*>(user.get()), &detail::delete_user<ProgressFunction>);
    (void)user.release();  // the library's from now on
  }

  /**
   * Trains on the rest of the loader's epoch. After Status::stopped, and after an exception of a
   * callback, the loader is at the batch after the last one that was trained on.
   */
  Metrics train_epoch(Loader& loader) {
    return run(loader, troika_trainer_train_epoch, detail::handle_of(*this), detail::handle_of(loader));
  }

  /** Trains on at most `batches` of the epoch. The status is end_of_data at its end. */
  Metrics train_batches(Loader& loader, std::int64_t batches) {
    return run(loader, troika_trainer_train_batches, detail::handle_of(*this), detail::handle_of(loader), batches);
  }

  /** Evaluates an epoch of the loader, from its first batch, on all devices. */
  Metrics evaluate(Loader& loader) {
    return run(loader, troika_trainer_evaluate, detail::handle_of(*this), detail::handle_of(loader));
  }

  /** Evaluates on one attached device. */
  Metrics evaluate_on(Device device, Loader& loader) {
    return run(loader, troika_trainer_evaluate_on, detail::handle_of(*this), device.get(), detail::handle_of(loader));
  }

  /** Evaluates one batch: loss, samples, labels, correct and seconds. */
  StepResult evaluate_batch(const Batch& batch) {
    return detail::fill<StepResult>(troika_trainer_evaluate_batch, detail::handle_of(*this), detail::handle_of(batch));
  }

  /** Lets the loader read only the samples that this process's devices need, in a group. */
  void divide_loader(Loader& loader) {
    detail::call(troika_trainer_divide_loader, detail::handle_of(*this), detail::handle_of(loader));
  }

  // Prediction. Targets are not read.

  /** Returns the output [batch, the output's shape] on the first device. */
  Tensor predict(const Tensor& input) {
    return Tensor(
        detail::make<troika_tensor>(troika_trainer_predict, detail::handle_of(*this), detail::handle_of(input)));
  }

  /** Writes the output of a batch to memory of its size. */
  void predict_batch(const Batch& batch, Span<float> output) {
    detail::call(troika_trainer_predict_batch, detail::handle_of(*this), detail::handle_of(batch), output.data(),
                 detail::size_bytes(output));
  }
  /** Returns the output of a batch. */
  std::vector<float> predict_batch(const Batch& batch) {
    std::vector<float> output(static_cast<std::size_t>(batch.describe().n * output_elements()));
    predict_batch(batch, output);
    return output;
  }

  /** Writes the outputs of an epoch of the loader, from its first batch. */
  Predictions predict_loader(Loader& loader, Span<float> output) {
    return with_callbacks([&] {
      Predictions done;
      done.status = loader.call(troika_trainer_predict_loader, detail::handle_of(*this), detail::handle_of(loader),
                                output.data(), detail::size_bytes(output), &done.samples);
      return done;
    });
  }
  /** Returns the outputs of an epoch. Throws std::invalid_argument for a stream. */
  Predictions predict_loader(Loader& loader) {
    if (loader.most_samples_ < 0)
      detail::refuse(
          "Trainer::predict_loader: the loader's number of samples is not known, need memory for the outputs");
    const std::int64_t elements = output_elements();
    std::vector<float> outputs(static_cast<std::size_t>(loader.most_samples_ * elements));
    Predictions done = predict_loader(loader, outputs);
    outputs.resize(static_cast<std::size_t>(done.samples * elements));
    done.outputs = std::move(outputs);
    return done;
  }

  // A step in pieces.

  /** Runs the forward pass of a step. `wants_output` false saves the copy of the output. */
  ForwardResult forward(const Batch& batch, const ForwardOptions& options = {}, bool wants_output = true) {
    troika_tensor output = nullptr;
    auto raw = detail::defaults<troika_step_result>();
    const Status status =
        detail::call(troika_trainer_forward, detail::handle_of(*this), detail::handle_of(batch),
                     detail::Raw<ForwardOptions>(options).get(), wants_output ? &output : nullptr, &raw);
    return {Tensor(output), with_status(detail::convert<StepResult>(raw), status)};
  }

  /** Runs the backward pass of the trainer's own loss, and adds up the gradients. */
  void backward() {
    detail::call(troika_trainer_backward, detail::handle_of(*this), static_cast<troika_tensor>(nullptr));
  }
  /** Runs the backward pass after `own_loss`, from the gradient of the output. */
  void backward(const Tensor& output_gradient) {
    detail::call(troika_trainer_backward, detail::handle_of(*this), detail::handle_of(output_gradient));
  }

  /** Copies the gradient of the inputs, after `input_gradient`, in the shape of the batch. */
  void get_input_gradient(Span<float> data) {
    detail::call(troika_trainer_get_input_gradient, detail::handle_of(*this), data.data(), detail::size_bytes(data));
  }

  /** Replaces the gradient of a parameter on all devices. */
  void set_gradient(const std::string& name, Span<const float> data) {
    detail::call(troika_trainer_set_gradient, detail::handle_of(*this), detail::c_text(name, "name"), data.data(),
                 detail::size_bytes(data));
  }

  /** Updates the parameters with the gradients that are there. The status is that of a step. */
  StepResult apply() { return detail::fill<StepResult>(troika_trainer_apply, detail::handle_of(*this)); }

  // Cancellation.

  /** Asks for a stop: a call on a loader ends before its next batch. Also in signal handlers. */
  void request_stop() const { detail::call(troika_trainer_request_stop, detail::handle_of(*this)); }

  /** Takes back a stop that no call has returned yet. Also in signal handlers. */
  void clear_stop() const { detail::call(troika_trainer_clear_stop, detail::handle_of(*this)); }

#if defined(__cpp_lib_jthread)
  /** @name Calls that a token stops
   * If a stop of the token is requested, they return Status::stopped. The trainer is usable
   * afterwards.
   * @{ */
  Metrics train_epoch(Loader& loader, std::stop_token token) {
    return until(std::move(token), [&] { return train_epoch(loader); });
  }
  Metrics train_batches(Loader& loader, std::int64_t batches, std::stop_token token) {
    return until(std::move(token), [&] { return train_batches(loader, batches); });
  }
  Metrics evaluate(Loader& loader, std::stop_token token) {
    return until(std::move(token), [&] { return evaluate(loader); });
  }
  Metrics evaluate_on(Device device, Loader& loader, std::stop_token token) {
    return until(std::move(token), [&] { return evaluate_on(device, loader); });
  }
  Predictions predict_loader(Loader& loader, std::stop_token token) {
    return until(std::move(token), [&] { return predict_loader(loader); });
  }
  /** @} */
#endif

  // Settings. `group` is an index into the options' groups, or -1 for the trainer.

  /** Sets the base learning rate from the next step on. */
  void set_learning_rate(double learning_rate, std::int32_t group = -1) {
    detail::call(troika_trainer_set_learning_rate, detail::handle_of(*this), group, learning_rate);
  }
  /** Returns the learning rate of the next step, with schedule and warm-up. */
  double get_learning_rate(std::int32_t group = -1) const {
    double learning_rate = 0.0;
    detail::call(troika_trainer_get_learning_rate, detail::handle_of(*this), group, &learning_rate);
    return learning_rate;
  }
  /** Sets an option from the next step on. */
  void set_option(Option option, double value, std::int32_t group = -1) {
    detail::call(troika_trainer_set_option, detail::handle_of(*this), group, static_cast<std::int32_t>(option), value);
  }
  /** Returns the value of an option. */
  double get_option(Option option, std::int32_t group = -1) const {
    double value = 0.0;
    detail::call(troika_trainer_get_option, detail::handle_of(*this), group, static_cast<std::int32_t>(option), &value);
    return value;
  }
  /** Reports a metric to Schedule::plateau. */
  void report_metric(double metric) { detail::call(troika_trainer_report_metric, detail::handle_of(*this), metric); }

  // Values on devices.

  /** Copies the parameter or buffer that the replica on `device` holds. */
  void get_parameter(const std::string& name, Device device, MutableElements data) const {
    unwrap().check_parameter(name, data.dtype());
    detail::call(troika_trainer_get_parameter, detail::handle_of(*this), detail::c_text(name, "name"), device.get(),
                 data.data(), data.size_bytes());
  }
  /** Returns a parameter, or a buffer with elements of T. */
  template <typename T = float>
  std::vector<T> get_parameter(const std::string& name, Device device) const {
    std::vector<T> data(unwrap().parameter_elements(name));
    get_parameter(name, device, data);
    return data;
  }
  /** Copies the gradient of the last step: reduced, without the loss scale, not clipped. */
  void get_gradient(const std::string& name, Span<float> data) const {
    detail::call(troika_trainer_get_gradient, detail::handle_of(*this), detail::c_text(name, "name"), data.data(),
                 detail::size_bytes(data));
  }
  std::vector<float> get_gradient(const std::string& name) const {
    std::vector<float> data(unwrap().parameter_elements(name));
    get_gradient(name, data);
    return data;
  }
  /** Compares all replicas bit by bit. Throws Error with mismatch, which names the devices. */
  void check_replicas() const { detail::call(troika_trainer_check_replicas, detail::handle_of(*this)); }

  // Training states.

  /** Writes a training state, from which training resumes bit for bit. */
  void save(const std::string& path) {
    detail::call(troika_trainer_save, detail::handle_of(*this), detail::c_text(path, "path"));
  }
  /** Writes a training state with options: keeping the newest files, or in the background. */
  void save_with(const std::string& path, const SaveOptions& options) {
    detail::call(troika_trainer_save_with, detail::handle_of(*this), detail::c_text(path, "path"),
                 detail::Raw<SaveOptions>(options).get());
  }
  /** Waits for files that are written in the background. Throws the error of the last one. */
  void wait_save() { detail::call(troika_trainer_wait_save, detail::handle_of(*this)); }
  /** Writes a model file with the moving averages of `average_decay`. */
  void save_average(const std::string& path) {
    detail::call(troika_trainer_save_average, detail::handle_of(*this), detail::c_text(path, "path"));
  }
  /**
   * Reads a training state, and returns the place in the epoch for `Loader::seek`. If the next
   * batch of a loader that is moved there has other samples than the state's, a step refuses it.
   * A loader that is not moved is not compared.
   */
  LoaderPosition load(const std::string& path) {
    return detail::fill<LoaderPosition>(troika_trainer_load, detail::handle_of(*this), detail::c_text(path, "path"));
  }
  /** Reads a training state as `load` does, and leaves the order of samples to the caller. */
  void load_in_any_order(const std::string& path) {
    detail::call(troika_trainer_load, detail::handle_of(*this), detail::c_text(path, "path"),
                 static_cast<troika_loader_position*>(nullptr));
  }
  /** Returns the single-device model, which shares the parameters. The trainer stays usable. */
  Model unwrap() const { return Model(detail::make<troika_model>(troika_trainer_unwrap, detail::handle_of(*this))); }

  // Descriptions.

  TrainerInfo describe() const { return detail::fill<TrainerInfo>(troika_trainer_describe, detail::handle_of(*this)); }
  /** Returns the devices, in the order of replicas. */
  std::vector<Device> get_devices() const {
    return detail::read_devices(troika_trainer_get_devices, detail::handle_of(*this));
  }
  /** Returns the options with the values that the trainer uses, without `group`. */
  TrainerOptions get_options() const {
    return detail::fill<TrainerOptions>(troika_trainer_get_options, detail::handle_of(*this));
  }
  /** Returns the description as one JSON object. */
  std::string to_json() const { return detail::read_text(troika_trainer_to_json, detail::handle_of(*this)); }
  /** Returns the memory of a replica. Throws Error with not_found. */
  MemoryInfo memory(std::int32_t replica) const {
    return detail::fill<MemoryInfo>(troika_trainer_memory, detail::handle_of(*this), replica);
  }
  // A program that is warned of these functions is warned when it calls them, and not here.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif
  /** Returns the plan for a batch of that size as text; "" if a stop was requested meanwhile. */
  TROIKA_EXPERIMENTAL
  std::string explain(std::int64_t batch) {
    return detail::read_text(troika_trainer_explain, detail::handle_of(*this), batch);
  }
  /** Returns the trace of the last step, one line per event. Needs `collect_trace`. */
  TROIKA_EXPERIMENTAL
  std::string trace() const { return detail::read_text(troika_trainer_trace, detail::handle_of(*this)); }
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
  /** Writes the trace of the last step for ui.perfetto.dev. Needs `collect_trace`. */
  void save_trace(const std::string& file) const {
    detail::call(troika_trainer_save_trace, detail::handle_of(*this), detail::c_text(file, "file"));
  }

 private:
  template <typename Result>
  static Result with_status(Result result, Status status) {
    result.status = status;
    return result;
  }

  std::int64_t output_elements() const { return detail::elements_of(unwrap().describe().output_dims); }

  /** Makes a call that reports progress, and throws the exception of the callback. */
  template <typename Call>
  static auto with_callbacks(const Call& call) -> decltype(call()) {
    detail::progress_exception() = nullptr;
    auto result = call();
    if (detail::progress_exception()) std::rethrow_exception(std::exchange(detail::progress_exception(), nullptr));
    return result;
  }

  /** Makes a call on a loader that fills metrics. */
  template <typename Function, typename... Arguments>
  static Metrics run(Loader& loader, Function function, Arguments... arguments) {
    return with_callbacks([&] {
      auto raw = detail::defaults<troika_metrics>();
      const Status status = loader.call(function, arguments..., &raw);
      return with_status(detail::convert<Metrics>(raw), status);
    });
  }

#if defined(__cpp_lib_jthread)
  /** Makes a call that a token stops. A stop that came too late for the call is taken back. */
  template <typename Call>
  auto until(std::stop_token token, const Call& call) -> decltype(call()) {
    struct Clear {
      ~Clear() {
        if (token.stop_requested()) troika_trainer_clear_stop(trainer, nullptr);
      }
      troika_trainer trainer;
      const std::stop_token& token;
    };
    const troika_trainer trainer = detail::handle_of(*this);
    const Clear clear{trainer, token};
    const std::stop_callback stop(token, [trainer] { troika_trainer_request_stop(trainer, nullptr); });
    return call();
  }
#endif
};

inline Trainer Model::attach(Span<const Device> devices, const TrainerOptions& options) {
  const std::vector<troika_device> raw = detail::raw_devices(devices);
  return Trainer(detail::make<troika_trainer>(troika_model_attach, detail::handle_of(*this), raw.data(),
                                              detail::length(raw), detail::Raw<TrainerOptions>(options).get()));
}

}  // namespace v1
}  // namespace troika

#endif
