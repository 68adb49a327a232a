// Training and evaluating over a loader's epoch, from samples that devices keep or that the host copies.
#include <algorithm>
#include <iterator>

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

// On every device, which replicas may share. `ranks`: those that the samples are to be copied for.
bool Trainer::have_room_for(const Dataset& dataset, const std::vector<size_t>& ranks) const {
  for (size_t rank : ranks) {
    size_t bytes = 0;
    for (size_t other : ranks)
      if (replicas_[other]->device_id() == replicas_[rank]->device_id())
        bytes += replicas_[other]->bytes_of_samples(dataset);
    if (bytes > replicas_[rank]->room_for_samples()) return false;
  }
  return true;
}

// Whether every replica has the dataset, or reads nothing of it, for the plans that are prepared.
bool Trainer::keep_samples(const std::shared_ptr<const Dataset>& dataset, const std::vector<size_t>& ranks) {
  auto lacks = [&](size_t rank) { return !replicas_[rank]->is_idle() && !replicas_[rank]->use_samples(dataset); };
  auto keeps_none = [&](size_t rank) { return lacks(rank) && replicas_[rank]->room_for_samples() == 0; };
  if (std::none_of(ranks.begin(), ranks.end(), lacks)) return true;
  not_kept_ = dataset;
  if (std::any_of(ranks.begin(), ranks.end(), keeps_none)) return false;
  std::vector<size_t> without;
  std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(without), lacks);
  if (!have_room_for(*dataset, without)) return false;

  for (size_t rank : without) replicas_[rank]->start_keeping(dataset);
  bool are_kept = true;
  std::exception_ptr error;
  for (size_t rank : without) {
    try {
      replicas_[rank]->wait_for_keeping();
    } catch (const Error& e) {
      are_kept = false;
      if (e.status() != Status::out_of_memory) error = std::current_exception();
    } catch (...) {
      are_kept = false;
      error = std::current_exception();
    }
  }
  if (are_kept) {
    not_kept_.reset();
    return true;
  }
  for (size_t rank : ranks) replicas_[rank]->drop_samples(dataset.get());
  if (error) std::rethrow_exception(error);
  return false;
}

// The loader's next batch, which is `coming`, and plans for it: gathered on the devices where they can, else from the host.
BatchView Trainer::take_batch(Mode mode, Loader& loader, const BatchOrigin& coming, const std::vector<size_t>& ranks) {
  const Dataset& dataset = *loader.dataset();
  if (dataset.sample_shape() != input_shape_) check_batch(dataset.sample_shape().times(coming.size));
  if (mode == Mode::train) check_order(coming);
  BatchView view;
  // What does not fit the model is left to the checks of batches from the host.
  const bool fits = options_.loss == Loss::mean_squared_error ? dataset.value_size() == outputs_
                                                              : dataset.has_labels() && dataset.classes() <= outputs_;
  if (options_.keeps_samples && fits && not_kept_.lock() != loader.dataset()) {
    prepare(mode, coming.size, ranks);
    if (keep_samples(loader.dataset(), ranks)) {
      loader.skip();
      view.n = coming.size;
      view.gathered = &coming;
      return view;
    }
  }
  view = view_of(*loader.next());
  check_targets(view);
  prepare(mode, coming.size, ranks);
  return view;
}

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
