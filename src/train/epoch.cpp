// One batch after another, with the host one step after devices that run ahead.
#include "train/epoch.h"

#include <cmath>

#include "core/text.h"

namespace troika {

// A loader that never returns a batch would end every epoch as if nothing were wrong.
void Epoch::check_has_batches() const {
  const int64_t n = loader_.dataset()->size();
  if (n == 0) throw Error(Status::invalid_argument, "loader: its dataset has 0 samples, need at least 1");
  if (loader_.batches() == 0)
    throw Error(Status::invalid_argument,
                text("loader: its dataset has ", n, " samples and drop_last is set, need at least ",
                     loader_.options().batch, " for one batch"));
}

void Epoch::count(double loss, int64_t samples, int64_t labels, int64_t correct) {
  loss_sum_ += loss;
  samples_ += samples;
  labels_ += labels;
  correct_ += correct;
}

Progress Epoch::progress_at(const BatchPosition& at) const {
  Progress progress;
  progress.batch = at.batch + 1;
  progress.batches = at.batches;
  progress.epoch = at.epoch;
  progress.samples = samples_;
  progress.labels = labels_;
  progress.correct = correct_;
  progress.loss = mean_loss(loss_sum_, labels_);
  progress.seconds = stopwatch_.seconds();
  return progress;
}

void Epoch::look_at(Step step) {
  StepResult& result = step.result;
  trainer_.stepper().finish(result);
  const bool is_mean = trainer_.options().reduction == Reduction::mean;
  // A step that loss scaling skipped has changed no parameter, and its loss need not be a number.
  if (!result.is_skipped || std::isfinite(result.loss))
    count(is_mean ? result.loss * static_cast<double>(result.labels) : result.loss, result.samples, result.labels,
          result.correct);
  if (!tells_) return;
  Progress progress = progress_at(step.at);
  progress.is_training = true;
  progress.is_skipped = result.is_skipped;
  progress.batch_loss = is_mean ? result.loss : mean_loss(result.loss, result.labels);
  progress.batch_samples = result.samples;
  progress.batch_labels = result.labels;
  progress.batch_correct = result.correct;
  progress.learning_rate = result.learning_rate;
  tells_ = trainer_.tell(progress);
  goes_on_ = goes_on_ && tells_;
}

void Epoch::catch_up() {
  if (!ahead_) return;
  const Step last = *ahead_;
  ahead_.reset();
  trainer_.stepper().collect();
  look_at(last);
}

void Epoch::train_batch(const BatchOrigin& coming, bool runs_ahead) {
  try {
    const BatchView view = trainer_.take_batch(Mode::train, loader_, coming, trainer_.ranks().all());
    const StepResult started = trainer_.start_step(view, &coming, runs_ahead ? Results::earlier : Results::own);
    if (ahead_) look_at(*ahead_);
    ahead_ = Step{started, coming.at};
  } catch (...) {
    loader_.seek(coming.at);
    tells_ = false;
    if (!trainer_.stepper().is_broken()) catch_up();  // may fail, too; that error is the worse one
    throw;
  }
  if (runs_ahead) return;
  look_at(*ahead_);
  ahead_.reset();
}

PassEnd Epoch::train(int64_t batches, Metrics& metrics) {
  check_has_batches();
  const bool runs_ahead = trainer_.ranks().run_ahead();
  PassEnd end = PassEnd::stopped;
  while (goes_on_) {
    if (trainer_.take_stop_request()) break;
    const std::optional<BatchOrigin> coming = loader_.peek();
    // its plan may be replaced by another
    if (!coming || (ahead_ && coming->size != ahead_->result.samples)) catch_up();
    if (!goes_on_) break;
    if (!coming) {
      loader_.skip();
      end = PassEnd::end_of_epoch;
      break;
    }
    if (batches-- == 0) {
      end = PassEnd::limit;
      break;
    }
    train_batch(*coming, runs_ahead);
  }
  catch_up();
  metrics = this->metrics();
  return goes_on_ ? end : PassEnd::stopped;
}

bool Epoch::evaluate(const ActiveRanks& active, Metrics& metrics) {
  check_has_batches();
  loader_.rewind();
  while (goes_on_) {
    if (trainer_.take_stop_request()) {
      goes_on_ = false;
      break;
    }
    const std::optional<BatchOrigin> coming = loader_.peek();
    if (!coming) {
      loader_.skip();
      break;
    }
    const BatchView view = trainer_.take_batch(Mode::evaluate, loader_, *coming, active);
    const RunResults& results = trainer_.evaluate(view, active);
    count(results.loss, view.n, view.counted, results.correct);
    Progress progress = progress_at(coming->at);
    progress.batch_loss = mean_loss(results.loss, view.counted);
    progress.batch_samples = view.n;
    progress.batch_labels = view.counted;
    progress.batch_correct = results.correct;
    goes_on_ = trainer_.tell(progress);
  }
  metrics = this->metrics();
  return goes_on_;
}

}  // namespace troika
