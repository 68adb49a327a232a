// One batch after another, with the host one step after devices that run ahead.
#include "train/epoch.h"

#include <cmath>
#include <utility>

#include "core/text.h"
#include "train/agreement.h"
#include "train/predict_rows.h"

namespace troika {

// A loader that never returns a batch would end every epoch as if nothing were wrong.
void Epoch::check_has_batches() const {
  if (loader_.dataset()->is_stream()) return;  // it turns out at the end
  const int64_t n = loader_.dataset()->size();
  if (n == 0) throw Error(Status::invalid_argument, "loader: its dataset has 0 samples, need at least 1");
  if (loader_.batches() == 0)
    throw Error(Status::invalid_argument,
                text("loader: an epoch has ", loader_.options().epoch_samples > 0 ? loader_.options().epoch_samples : n,
                     " samples and drop_last is set, need at least ", loader_.options().batch, " for one batch"));
}

void Epoch::count(const StepResult& result, double loss_sum) {
  loss_sum_ += loss_sum;
  weight_ += result.weight;
  samples_ += result.samples;
  labels_ += result.labels;
  correct_ += result.correct;
}

Progress Epoch::progress_at(const BatchPosition& at) const {
  Progress progress;
  progress.batch = at.batch + 1;
  progress.batches = at.batches;
  progress.epoch = at.epoch;
  progress.samples = samples_;
  progress.labels = labels_;
  progress.correct = correct_;
  progress.loss = mean_loss(loss_sum_, weight_);
  progress.seconds = stopwatch_.seconds();
  return progress;
}

void Epoch::look_at(Step step) {
  StepResult& result = step.result;
  trainer_.stepper().finish(result);
  const bool is_mean = trainer_.options().reduction == Reduction::mean;
  skipped_steps_ += result.is_skipped;
  // A step that was skipped has changed no parameter, and its loss need not be a number.
  if (!result.is_skipped || std::isfinite(result.loss))
    count(result, is_mean ? result.loss * result.weight : result.loss);
  if (!tells_) return;
  Progress progress = progress_at(step.at);
  progress.is_training = true;
  progress.is_skipped = result.is_skipped;
  progress.batch_loss = is_mean ? result.loss : mean_loss(result.loss, result.weight);
  progress.batch_samples = result.samples;
  progress.batch_labels = result.labels;
  progress.batch_correct = result.correct;
  progress.learning_rate = result.learning_rate;
  progress.wait_seconds = trainer_.ranks().least_wait();
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

// Goes to the next epoch. A stream without batches is an error, as is a dataset without samples.
void Epoch::end_epoch() {
  const BatchPosition end = loader_.tell();
  loader_.skip();
  if (end.batch > 0 || !loader_.dataset()->is_stream()) return;
  throw Error(Status::invalid_argument,
              text("loader: its stream had no batch in epoch ", end.epoch, ", need at least one",
                   loader_.options().drop_last ? text(" of ", loader_.options().batch, " samples") : ""));
}

// Takes part in a batch of all processes, or throws Stopped: they stop together.
BatchView Epoch::take_batch(Mode mode, const BatchOrigin& coming, const ActiveRanks& active) {
  if (is_alone_) {
    const BatchView view = read_batch(mode, coming, active);
    trainer_.prepare(mode, coming.size, active);
    return view;
  }
  static constexpr const char* kNames[] = {"a training step", "an evaluation", "a prediction"};
  BatchView view;
  const bool goes_on = agree_on_batch(trainer_, kNames[static_cast<size_t>(mode)], &coming, view,
                                             [&] { return trainer_.take_stop_request() || !goes_on_; },
                                             [&] { view = read_batch(mode, coming, active); });
  if (!goes_on) throw Stopped();
  trainer_.prepare(mode, coming.size, active);
  return view;
}

// The next batch is gathered on the devices if they hold the dataset, else read by the host.
BatchView Epoch::read_batch(Mode mode, const BatchOrigin& coming, const ActiveRanks& active) {
  const std::shared_ptr<const Dataset>& dataset = loader_.dataset();
  BatchChecks& checks = trainer_.checks();
  if (!checks.fits_inputs(*dataset))
    checks.check_inputs(dataset->form().dtype, dataset->sample_shape().times(coming.size));
  if (mode == Mode::train) trainer_.stepper().check_order(coming);
  const bool reads_targets = mode != Mode::predict;
  const bool may_keep = trainer_.options().keeps_samples && dataset->is_fixed() && !coming.order.weights &&
                        !coming.order.augmentation && (reads_targets ? checks.fits(*dataset) : checks.fits_words(*dataset)) &&
                        trainer_.keeper().may_keep(dataset);
  BatchView view;
  if (may_keep) {
    trainer_.prepare(mode, coming.size, active);
    if (trainer_.keeper().keep(dataset, active)) {
      loader_.skip();
      view.n = coming.size;
      view.rows = trainer_.peers().division().rows(coming.size).size();
      view.gathered = &coming;
      if (reads_targets) view.counted = trainer_.label_count().of(*dataset, coming);
      view.weight = static_cast<double>(view.counted);
      return view;
    }
  }
  const Batch& batch = *loader_.next(trainer_.stop_request());
  if (batch.size() == 0) return view;  // other processes compute all rows
  return reads_targets ? checks.check(batch) : checks.check_samples(batch);
}

void Epoch::train_batch(const BatchOrigin& coming, bool runs_ahead) {
  std::optional<Step> last;
  try {
    const BatchView view = take_batch(Mode::train, coming, trainer_.ranks().all());
    const StepResult started = trainer_.start_step(view, &coming, runs_ahead ? Results::earlier : Results::own);
    last = std::exchange(ahead_, Step{started, coming.at});
  } catch (...) {
    loader_.seek(coming.at);
    throw;
  }
  if (!runs_ahead) last = std::exchange(ahead_, std::nullopt);
  if (last) look_at(*last);
}

PassEnd Epoch::train_batches(int64_t batches) {
  const bool runs_ahead = trainer_.ranks().run_ahead();
  while (goes_on_ || !is_alone_) {
    if (is_alone_ && trainer_.take_stop_request()) break;
    // a stream may take long to say whether it has one batch more
    if (batches == 0 && loader_.dataset()->is_stream() && !loader_.is_at_end()) return PassEnd::limit;
    const std::optional<BatchOrigin> coming = loader_.peek(trainer_.stop_request());
    // its plan may be replaced by another
    if (!coming || (ahead_ && coming->size != ahead_->result.samples)) catch_up();
    if (!goes_on_ && is_alone_) break;
    if (!coming) {
      const BatchPosition end = loader_.tell();
      end_epoch();
      trainer_.stepper().end_epoch(end, loader_.tell());
      return PassEnd::end_of_epoch;
    }
    if (batches-- == 0) return PassEnd::limit;
    train_batch(*coming, runs_ahead);
  }
  return PassEnd::stopped;
}

void Epoch::divide(const ActiveRanks& active) {
  if (loader_.options().is_of_group && !trainer_.peers().exist())
    throw Error(Status::unsupported,
                "loader: each process of its group reads a share, and the trainer has no group; attach the model with"
                " the group, or step on the batches");
  is_alone_ = active.is_alone || !trainer_.peers().exist();
  loader_.divide(is_alone_ ? Division() : trainer_.peers().division());
}

PassEnd Epoch::train(int64_t batches, Metrics& metrics) {
  check_has_batches();
  divide(trainer_.ranks().all());
  PassEnd end = PassEnd::stopped;
  try {
    end = train_batches(batches);
  } catch (const Stopped&) {
    trainer_.take_stop_request();
    goes_on_ = false;
  } catch (...) {
    tells_ = false;
    if (!trainer_.stepper().is_broken()) catch_up();  // may fail, too; that error is the worse one
    throw;
  }
  catch_up();
  metrics = this->metrics();
  return goes_on_ ? end : PassEnd::stopped;
}

template <typename Look>
bool Epoch::pass(Mode mode, const ActiveRanks& active, const Look& look) {
  check_has_batches();
  divide(active);
  loader_.rewind();
  try {
    while (goes_on_ || !is_alone_) {
      if (is_alone_ && trainer_.take_stop_request()) return false;
      const std::optional<BatchOrigin> coming = loader_.peek(trainer_.stop_request());
      if (!coming) {
        end_epoch();
        return true;
      }
      BatchView view;
      try {
        view = take_batch(mode, *coming, active);
      } catch (const Stopped&) {  // the loader may have read the batch
        loader_.seek(coming->at);
        throw;
      }
      goes_on_ = trainer_.tell(look(view, coming->at));
    }
  } catch (const Stopped&) {  // the host's wish, not an error
    trainer_.take_stop_request();
  }
  return false;
}

bool Epoch::evaluate(const ActiveRanks& active, Metrics& metrics) {
  const bool finished = pass(Mode::evaluate, active, [&](const BatchView& view, const BatchPosition& at) {
    const RunResults& results = trainer_.evaluate(view, active);
    const StepResult batch{.samples = view.n, .labels = view.counted, .correct = results.correct, .weight = view.weight};
    count(batch, results.loss);
    Progress progress = progress_at(at);
    progress.batch_loss = mean_loss(results.loss, batch.weight);
    progress.batch_samples = batch.samples;
    progress.batch_labels = batch.labels;
    progress.batch_correct = batch.correct;
    return progress;
  });
  metrics = this->metrics();
  return finished;
}

bool Epoch::predict(float* output, int64_t room, int64_t& samples) {
  samples = 0;
  const int64_t elements = trainer_.model()->output_shape().elements();
  return pass(Mode::predict, trainer_.ranks().all(), [&](BatchView view, const BatchPosition& at) {
    if (view.n > room - samples)
      throw Error(Status::invalid_argument, text("predict: the output has room for ", room, " samples, the loader has ",
                                                 samples + view.n, " up to batch ", at.batch));
    view.output = output + samples * elements;
    predict_rows(trainer_, view, Rows::all);
    samples += view.n;
    samples_ = samples;
    Progress progress = progress_at(at);
    progress.batch_samples = view.n;
    return progress;
  });
}

}  // namespace troika
