// Steps, predictions, and the state between steps.
#include "train/trainer.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/stopwatch.h"
#include "core/text.h"
#include "train/agreement.h"
#include "train/epoch.h"
#include "train/predict_rows.h"

namespace troika {

Trainer::Trainer(std::shared_ptr<Context> context, std::shared_ptr<Model> model, LocalDevices local,
                 TrainerOptions options)
    : context_(std::move(context)),
      model_(std::move(model)),
      local_(std::move(local)),
      run_(std::make_unique<TrainingRun>(*context_, *model_, local_, options)),
      peers_(std::make_unique<Peers>(local_, layout().ranks(), ranks(), options)),
      checks_(*model_, options),
      label_count_(options.labels.ignored) {
  peers_->share_values(*model_->parameters());
  model_->parameters()->set_owner(this);
}

Trainer::~Trainer() {
  ParameterStore& store = *model_->parameters();
  try {
    if (state().is_scattered()) peers_->meet("the end of a trainer");
    store.give_up(this);  // pulls the newest values
  } catch (const std::exception& e) {
    store.drop_owner(this);
    try {
      context_->log().write(LogTopic::train, LogLevel::error,
                            text("model '", model_->name(), "': the last values could not be read back: ", e.what()));
    } catch (const std::bad_alloc&) {  // without memory to report the error either
    }
  }
}

// ---- state on the devices ----

void Trainer::prepare(Mode mode, int64_t n, const ActiveRanks& active, const StepForm& form, bool heeds_stop) {
  try {
    run_->attached.runner.prepare(mode, n, active, {.step = form, .stop = heeds_stop ? stop_request() : nullptr});
  } catch (const Stopped&) {
    take_stop_request();
    throw;
  } catch (const std::exception& e) {  // the other processes would wait for this one
    peers_->abort(e.what());
    throw;
  }
  ParameterStore& store = *model_->parameters();
  std::lock_guard lock(store.mutex());
  require_attached();  // another thread may have attached the model since the call began
  if (!run_->sync.is_uploaded()) refresh_store();
  run_->sync.upload();
}

void Trainer::pull() {
  if (!busy_.begin_briefly())
    throw Error(Status::busy,
                text("model '", model_->name(),
                     "': another call of its trainer is in progress (perhaps on this thread, in a callback)"));
  struct Release {
    Use& use;
    ~Release() { use.end_briefly(); }
  } release{busy_};
  run_->sync.pull();
}

void Trainer::refresh_store() {
  ParameterStore& store = *model_->parameters();
  std::lock_guard lock(store.mutex());
  if (!store.begin_refresh(this)) return;
  run_->sync.pull();
  store.end_refresh();
}

// ---- checks ----

void Trainer::require_attached() const {
  if (model_->parameters()->is_owner(this)) return;
  peers_->abort("the model was attached again");  // the other processes would wait for this one
  throw Error(Status::detached,
              text("model '", model_->name(), "' was attached again; this trainer no longer owns its parameters"));
}

void Trainer::check_usable() const {
  require_attached();
  run_->stepper.check_unbroken();
}

void Trainer::check_replicas() {
  check_usable();
  if (run_->attached.state.is_allocated()) run_->attached.state.check_replicas();
}

// ---- batches ----

StepResult Trainer::start_step(const BatchView& view, const BatchOrigin* origin, Results wants) {
  model_->parameters()->mark_newer(this);
  run_->pieces.forget();
  return run_->stepper.start(view, origin, wants);
}

bool Trainer::step(const Batch& batch, StepResult& result, bool wants_results) {
  check_usable();
  const Stopwatch stopwatch;
  BatchView view;
  const auto check = [&] {
    view = checks_.check(batch);
    if (batch.origin) run_->stepper.check_order(*batch.origin);
  };
  if (!agree_on_batch(*this, "a training step", origin_of(batch), view, [&] { return take_stop_request(); }, check)) return false;
  prepare(Mode::train, view.n, ranks().all());
  result = start_step(view, origin_of(batch),
                      wants_results || options().conditioning.checks_finite() ? Results::own : Results::none);
  run_->stepper.finish(result);
  result.seconds = stopwatch.seconds();
  return true;
}

const RunResults& Trainer::evaluate(const BatchView& view, const ActiveRanks& active) {
  run_->sync.prepare_evaluation(options().evaluates_average);
  run_->attached.runner.run(Mode::evaluate, active, view, StepNumbers());
  return run_->attached.runner.results();
}

bool Trainer::predict(Loader& loader, float* output, int64_t room, int64_t& samples) {
  check_usable();
  const ParametersAfterwards afterwards(run_->sync);
  return Epoch(*this, loader).predict(output, room, samples);
}

PassEnd Trainer::train(Loader& loader, int64_t batches, Metrics& metrics) {
  check_usable();
  return Epoch(*this, loader).train(batches, metrics);
}

bool Trainer::train_epoch(Loader& loader, Metrics& metrics) {
  return train(loader, std::numeric_limits<int64_t>::max(), metrics) != PassEnd::stopped;
}

bool Trainer::evaluate(Loader& loader, const DeviceId* device, Metrics& metrics) {
  check_usable();
  const ParametersAfterwards afterwards(run_->sync);
  if (!device) return Epoch(*this, loader).evaluate(ranks().all(), metrics);
  const auto found = std::find(devices().begin(), devices().end(), *device);
  if (found == devices().end())
    throw Error(Status::not_on_device,
                text("model '", model_->name(), "' is not on ", *device, "; it is on ", join(devices(), ", ")));
  if (const int parts = layout().ranks().parts(); parts > 1)
    throw Error(Status::unsupported, text("model '", model_->name(), "' is split over ", parts,
                                          " devices, cannot be evaluated on ", *device, " alone; evaluate on all"));
  const int rank = local_.ranks[static_cast<size_t>(found - devices().begin())];
  return Epoch(*this, loader).evaluate({{rank}, true}, metrics);
}

// ---- a step in pieces ----

bool Trainer::forward(const Batch& batch, const ForwardOptions& options, StepResult& result, bool wants_results,
                      std::vector<float>* output) {
  check_usable();
  const Stopwatch stopwatch;
  BatchView view;
  const auto check = [&] {
    view = options.has_own_loss ? checks_.check_samples(batch) : checks_.check(batch);
    if (options.has_input_gradient) checks_.require_real_inputs();
    if (batch.origin) run_->stepper.check_order(*batch.origin);
  };
  const auto takes_stop = [&] { return take_stop_request(); };
  if (!agree_on_batch(*this, "a forward pass", origin_of(batch), view, takes_stop, check, options.weight)) return false;
  if (output) make_room(*this, view, *output);
  prepare(Mode::train, view.n, ranks().all(), options.form());
  model_->parameters()->mark_newer(this);
  result = run_->pieces.forward(view, origin_of(batch), options, wants_results,
                                output ? output->data() : nullptr);
  if (output) gather_own_rows(*this, view, *output);
  result.seconds = stopwatch.seconds();
  return true;
}

void Trainer::backward(const TensorType& type, const float* gradient) {
  check_usable();
  peers_->run_in_all("a backward pass", [&] { run_->pieces.check_backward(type, gradient); });
  run_->pieces.backward(type, gradient);
}

StepResult Trainer::apply(bool wants_results) {
  check_usable();
  peers_->run_in_all("an update", [&] { run_->pieces.require_gradients("apply"); });
  const Stopwatch stopwatch;
  prepare(Mode::train, 0, ranks().all(), {.part = StepForm::update}, false);
  model_->parameters()->mark_newer(this);
  StepResult result = run_->pieces.update(wants_results || options().conditioning.checks_finite());
  result.seconds = stopwatch.seconds();
  return result;
}

// ---- training state ----

void Trainer::restore(const TrainingState& state, HostSlots slots, const std::vector<std::vector<std::byte>>& values) {
  ParameterStore& store = *model_->parameters();
  {
    std::lock_guard lock(store.mutex());
    refresh_store();
    for (size_t i = 0; i < values.size(); ++i)
      if (!values[i].empty()) store.write(i, values[i].data(), values[i].size());
  }
  run_->stepper.restore(state);
  run_->pieces.forget();
  run_->sync.restore_slots(std::move(slots));
}

// ---- settings ----

void Trainer::set(int group, Setting setting, double value) {
  check_usable();
  run_->stepper.settings().set(group, setting, value);
}

void Trainer::set_frozen(int group, bool is_frozen) {
  check_usable();
  std::unique_ptr<TrainingRun> next;
  peers_->run_in_all("freezing a group", [&] {
    if (run_->is_frozen(group) == is_frozen) return;
    refresh_store();
    next = run_->with_frozen(*context_, *model_, local_, group, is_frozen);
  });
  if (!next) return;
  run_ = std::move(next);
  peers_ = std::make_unique<Peers>(local_, layout().ranks(), ranks(), options());
}

std::string Trainer::explain(int64_t batch) {
  check_usable();
  if (batch < 1) throw Error(Status::invalid_argument, text("explain: batch is ", batch, ", needs at least 1"));
  state().require_agreement("explain");
  prepare(Mode::train, batch, ranks().all());
  return print_plans(ranks());
}

}  // namespace troika
