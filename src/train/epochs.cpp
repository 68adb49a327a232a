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
  const int64_t n = loader.dataset().size();
  if (n == 0) throw Error(Status::invalid_argument, "loader: its dataset has 0 samples, need at least 1");
  if (loader.batches() == 0)
    throw Error(Status::invalid_argument,
                text("loader: its dataset has ", n, " samples and drop_last is set, need at least ",
                     loader.options().batch, " for one batch"));
}

}  // namespace

bool Trainer::train_epoch(Loader& loader, Metrics& metrics) {
  check_has_batches(loader);
  Tally tally{true};
  bool goes_on = true;
  while (goes_on) {
    const BatchPosition at = loader.tell();
    if (stop_requested_) {
      take_stop_request();
      goes_on = false;
      break;
    }
    const Batch* batch = loader.next();
    if (!batch) break;
    StepResult result;
    try {
      if (!step(*batch, result)) {  // a stop between the two looks at it: the batch was not trained on
        loader.seek(at);
        goes_on = false;
        break;
      }
    } catch (...) {
      loader.seek(at);
      throw;
    }
    const bool is_mean = options_.reduction == Reduction::mean;
    tally.loss_sum += is_mean ? result.loss * static_cast<double>(result.samples) : result.loss;
    tally.samples += result.samples;
    tally.correct += result.correct;
    if (progress_) goes_on = progress_(tally.progress(at));
  }
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
    const BatchPosition at = loader.tell();
    const Batch* batch = loader.next();
    if (!batch) break;
    const BatchView view = view_of(*batch);
    check_batch(batch->shape);
    check_targets(view);
    prepare(Mode::evaluate, view.n, ranks);
    sync_buffers();
    start_and_wait(Mode::evaluate, ranks, view);
    tally.loss_sum += sum_of_losses();
    for (size_t rank : ranks)
      if (!replicas_[rank]->is_idle() && rank % channels() == 0) tally.correct += replicas_[rank]->results().correct;
    tally.samples += view.n;
    if (progress_) goes_on = progress_(tally.progress(at));
  }
  metrics = tally.metrics();
  return goes_on;
}

}  // namespace troika
