// Training and evaluating over a loader's epoch.
#include <algorithm>

#include "core/text.h"
#include "train/trainer.h"

namespace troika {

using Clock = std::chrono::steady_clock;

namespace {

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

}  // namespace

bool Trainer::train_epoch(Loader& loader, Metrics& metrics) {
  const auto begin = Clock::now();
  double loss_sum = 0;
  bool goes_on = true;
  metrics = {};
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
    loss_sum += options_.reduction == Reduction::mean ? result.loss * static_cast<double>(result.samples) : result.loss;
    metrics.samples += result.samples;
    metrics.correct += result.correct;
    if (progress_) {
      Progress p{at.batch + 1,
                 at.batches,
                 at.epoch,
                 metrics.samples,
                 metrics.correct,
                 loss_sum / static_cast<double>(metrics.samples),
                 seconds_since(begin),
                 true};
      goes_on = progress_(p);
    }
  }
  metrics.loss = metrics.samples ? loss_sum / static_cast<double>(metrics.samples) : 0;
  metrics.seconds = seconds_since(begin);
  return goes_on;
}

bool Trainer::evaluate(Loader& loader, const DeviceId* device, Metrics& metrics) {
  check_usable();
  std::vector<size_t> ranks = all_ranks_;
  if (device) {
    const auto found = std::find(devices_.begin(), devices_.end(), *device);
    if (found == devices_.end())
      throw Error(Status::not_on_device,
                  text("model '", model_->name(), "' is not on ", *device, "; it is on ", join(devices_, ", ")));
    ranks = {static_cast<size_t>(found - devices_.begin())};
  }
  const auto begin = Clock::now();
  double loss_sum = 0;
  bool goes_on = true;
  metrics = {};
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
    start_and_wait(ranks, view, nullptr);
    for (size_t rank : ranks) {
      if (replicas_[rank]->is_idle()) continue;
      loss_sum += replicas_[rank]->results().loss;
      metrics.correct += replicas_[rank]->results().correct;
    }
    metrics.samples += view.n;
    if (progress_) {
      Progress p{at.batch + 1,
                 at.batches,
                 at.epoch,
                 metrics.samples,
                 metrics.correct,
                 loss_sum / static_cast<double>(metrics.samples),
                 seconds_since(begin),
                 false};
      goes_on = progress_(p);
    }
  }
  metrics.loss = metrics.samples ? loss_sum / static_cast<double>(metrics.samples) : 0;
  metrics.seconds = seconds_since(begin);
  return goes_on;
}

}  // namespace troika
