// Training and evaluating over a loader's epoch.
#include <algorithm>

#include "core/stopwatch.h"
#include "core/text.h"
#include "train/trainer.h"

namespace troika {
namespace {

// What a call over an epoch has seen so far.
struct Tally {
  const bool is_training;
  const Stopwatch stopwatch{};
  double loss_sum = 0;
  int64_t samples = 0, correct = 0;

  double mean_loss() const { return samples ? loss_sum / static_cast<double>(samples) : 0; }
  Progress progress(const BatchPosition& at) const {
    return {at.batch + 1, at.batches, at.epoch, samples, correct, mean_loss(), stopwatch.seconds(), is_training};
  }
  Metrics metrics() const { return {mean_loss(), samples, correct, stopwatch.seconds()}; }
};

// A loader that never gives a batch would end every epoch as if all were well.
void check_has_batches(const Loader& loader) {
  const int64_t n = loader.dataset()->size();
  if (n == 0) throw Error(Status::invalid_argument, "loader: its dataset has 0 samples, need at least 1");
  if (loader.batches() == 0)
    throw Error(Status::invalid_argument,
                text("loader: its dataset has ", n, " samples and drop_last is set, need at least ",
                     loader.options().batch, " for one batch"));
}

}  // namespace

bool Trainer::train_epoch(Loader& loader, Metrics& metrics) {
  check_usable();
  check_has_batches(loader);
  Tally tally{true};
  struct Step {
    StepResult result;
    BatchPosition at;
  };
  std::optional<Step> ahead;  // started, and its results not yet looked at
  bool goes_on = true, tells = true;
  auto look_at = [&](Step step) {
    finish_step(step.result);
    const bool is_mean = options_.reduction == Reduction::mean;
    tally.loss_sum += is_mean ? step.result.loss * static_cast<double>(step.result.samples) : step.result.loss;
    tally.samples += step.result.samples;
    tally.correct += step.result.correct;
    if (!progress_ || !tells) return;
    tells = progress_(tally.progress(step.at));
    goes_on = goes_on && tells;
  };
  auto catch_up = [&] {
    if (!ahead) return;
    const Step last = *ahead;
    ahead.reset();
    try {
      collect(last.result.samples);
    } catch (...) {
      broken_ = std::current_exception();
      throw;
    }
    look_at(last);
  };
  const bool runs_ahead =
      std::all_of(replicas_.begin(), replicas_.end(), [](const auto& replica) { return replica->runs_ahead(); });
  while (goes_on) {
    if (take_stop_request()) {
      goes_on = false;
      break;
    }
    const std::optional<BatchOrigin> coming = loader.peek();
    if (!coming || (ahead && coming->size != ahead->result.samples)) catch_up();  // its plan may give way to another
    if (!goes_on) break;
    if (!coming) {
      loader.skip();
      break;
    }
    try {
      const BatchView view = take_batch(Mode::train, loader, *coming, all_ranks_);
      const StepResult started = start_step(view, &*coming, runs_ahead ? Results::earlier : Results::own);
      if (ahead) look_at(*ahead);
      ahead = Step{started, coming->at};
    } catch (...) {
      loader.seek(coming->at);
      tells = false;
      if (!broken_) catch_up();  // which may fail, too, and worse
      throw;
    }
    if (runs_ahead) continue;
    look_at(*ahead);
    ahead.reset();
  }
  catch_up();
  metrics = tally.metrics();
  return goes_on;
}

bool Trainer::evaluate(Loader& loader, const DeviceId* device, Metrics& metrics) {
  check_usable();
  check_has_batches(loader);
  std::vector<size_t> ranks = all_ranks_;
  if (device) {
    const auto found = std::find(devices_.begin(), devices_.end(), *device);
    if (found == devices_.end())
      throw Error(Status::not_on_device,
                  text("model '", model_->name(), "' is not on ", *device, "; it is on ", join(devices_, ", ")));
    if (parts() > 1)
      throw Error(Status::unsupported, text("model '", model_->name(), "' is split over ", parts(),
                                            " devices, cannot be evaluated on ", *device, " alone; evaluate on all"));
    ranks = {static_cast<size_t>(found - devices_.begin())};
  }
  Tally tally{false};
  bool goes_on = true;
  loader.rewind();
  while (goes_on) {
    if (take_stop_request()) {
      goes_on = false;
      break;
    }
    const std::optional<BatchOrigin> coming = loader.peek();
    if (!coming) {
      loader.skip();
      break;
    }
    const BatchView view = take_batch(Mode::evaluate, loader, *coming, ranks);
    sync_buffers();
    start_and_wait(Mode::evaluate, ranks, view);
    tally.loss_sum += sum_of_losses();
    for (size_t rank : ranks)
      if (!replicas_[rank]->is_idle() && rank % channels() == 0) tally.correct += replicas_[rank]->results().correct;
    tally.samples += view.n;
    if (progress_) goes_on = progress_(tally.progress(coming->at));
  }
  metrics = tally.metrics();
  return goes_on;
}

}  // namespace troika
