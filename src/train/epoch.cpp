// Batch after batch, with the host one step behind devices that run ahead.
#include "train/epoch.h"

#include "core/text.h"

namespace troika {

// A loader that never returns a batch would end every epoch as if all were well.
void Epoch::check_has_batches() const {
  const int64_t n = loader_.dataset()->size();
  if (n == 0) throw Error(Status::invalid_argument, "loader: its dataset has 0 samples, need at least 1");
  if (loader_.batches() == 0)
    throw Error(Status::invalid_argument,
                text("loader: its dataset has ", n, " samples and drop_last is set, need at least ",
                     loader_.options().batch, " for one batch"));
}

bool Epoch::tell(const BatchPosition& at, bool is_training) const {
  return trainer_.tell(
      {at.batch + 1, at.batches, at.epoch, samples_, correct_, mean_loss(), stopwatch_.seconds(), is_training});
}

void Epoch::look_at(Step step) {
  trainer_.stepper().finish(step.result);
  const bool is_mean = trainer_.options().reduction == Reduction::mean;
  loss_sum_ += is_mean ? step.result.loss * static_cast<double>(step.result.samples) : step.result.loss;
  samples_ += step.result.samples;
  correct_ += step.result.correct;
  if (!tells_) return;
  tells_ = tell(step.at, true);
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
    if (!trainer_.stepper().is_broken()) catch_up();  // which may fail, too, and worse
    throw;
  }
  if (runs_ahead) return;
  look_at(*ahead_);
  ahead_.reset();
}

bool Epoch::train(Metrics& metrics) {
  check_has_batches();
  const bool runs_ahead = trainer_.ranks().run_ahead();
  while (goes_on_) {
    if (trainer_.take_stop_request()) {
      goes_on_ = false;
      break;
    }
    const std::optional<BatchOrigin> coming = loader_.peek();
    if (!coming || (ahead_ && coming->size != ahead_->result.samples)) catch_up();  // its plan may give way to another
    if (!goes_on_) break;
    if (!coming) {
      loader_.skip();
      break;
    }
    train_batch(*coming, runs_ahead);
  }
  catch_up();
  metrics = this->metrics();
  return goes_on_;
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
    const auto [loss, correct] = trainer_.evaluate(view, active);
    loss_sum_ += loss;
    correct_ += correct;
    samples_ += view.n;
    goes_on_ = tell(coming->at, false);
  }
  metrics = this->metrics();
  return goes_on_;
}

}  // namespace troika
