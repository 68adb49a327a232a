// Starts steps, and reads their results.
#include "train/stepper.h"

#include <zlib.h>

#include <algorithm>

#include "core/text.h"

namespace troika {
namespace {

// A stream knows its number of batches only after the first epoch.
bool is_same_place(const BatchPosition& a, const BatchPosition& b) {
  return a.epoch == b.epoch && a.batch == b.batch && (a.batches == b.batches || a.batches == 0 || b.batches == 0);
}

}  // namespace

Stepper::Stepper(Attachment& attached, StateSync& sync, const TrainerOptions& options)
    : attached_(attached),
      sync_(sync),
      options_(options),
      settings_(options),
      loss_scale_{static_cast<float>(options.loss_scale), 0} {
  numbers_.settings.resize(settings_.size());
  updates_.assign(options.groups.size() + 1, 0);
  sync_.restore_updates(updates_);
  numbers_.seed = static_cast<int64_t>(options.seed);
  sync_.restore_loss_scale(loss_scale_);
}

template <typename Run>
void Stepper::attempt(Run run) {
  try {
    run();
  } catch (...) {
    broken_ = std::current_exception();
    throw;
  }
}

int64_t Stepper::settings_checksum() const {
  std::vector<float> numbers(settings_.size());
  settings_.fill(position_.step, numbers);
  return static_cast<int64_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(numbers.data()), numbers.size() * sizeof(float)));
}

StepResult Stepper::start(const BatchView& view, const BatchOrigin* origin, Results wants) {
  settings_.fill(position_.step, numbers_.settings);
  numbers_.step = position_.step;
  StepResult result;
  result.learning_rate = learning_rate(-1);
  attempt([&] { attached_.runner.run(Mode::train, attached_.ranks.all(), view, numbers_, wants); });
  result.samples = view.n;
  result.labels = view.counted;
  result.weight = view.weight;
  result.step = ++position_.step;
  sync_.mark_stepped();
  has_gradients_ = true;
  if (origin) {
    position_.batch = origin->next;
    position_.order = origin->order;
    position_.has_batch = true;
    expects_order_ = false;
  }
  return result;
}

void Stepper::run_pass(const BatchView& view, int64_t earlier, Results wants, const StepPiece& piece) {
  // Each pass draws masks of its own; the first pass draws those of a step.
  constexpr int kStepBits = 40;
  numbers_.step = position_.step + (earlier << kStepBits);
  attempt([&] { attached_.runner.run(Mode::train, attached_.ranks.all(), view, numbers_, wants, piece); });
  sync_.mark_stepped();
  if (piece.piece != Piece::backward) return;
  has_gradients_ = true;
  last_loss_scale_ = loss_scale_[0];
}

void Stepper::collect() {
  attempt([&] { attached_.runner.collect(); });
}

void Stepper::read_losses(StepResult& result) const {
  const RunResults& results = attached_.runner.results();
  result.loss = results.loss;
  if (options_.reduction == Reduction::mean) result.loss = mean_loss(result.loss, result.weight);
  result.correct = results.correct;
}

void Stepper::finish(StepResult& result) {
  read_losses(result);
  const RunResults& results = attached_.runner.results();
  result.gradient_norm = static_cast<double>(results.gradient_norm);
  if (options_.conditioning.is_scaled) {
    result.loss_scale = static_cast<double>(last_loss_scale_ = loss_scale_[0]);
    loss_scale_ = results.loss_scale;
  }
  result.is_skipped = !results.is_finite;
  // The host counts updates as count_updates does on every replica.
  if (!result.is_skipped)
    for (int64_t& updates : updates_) ++updates;
}

TrainingState Stepper::state() const {
  return {position_, settings_.rows(), settings_.plateau(), settings_.falls_in_warmup(), updates_, loss_scale_};
}

void Stepper::check_unbroken() const {
  try {
    if (broken_) std::rethrow_exception(broken_);
  } catch (const std::exception& e) {
    throw Error(Status::comm,
                text("an earlier step failed half way (", e.what(), "); attach the model again and load a checkpoint"));
  }
}

void Stepper::check_order(const BatchOrigin& origin) const {
  if (!expects_order_ || !is_same_place(origin.at, position_.batch) || origin.order == position_.order) return;
  throw Error(
      Status::invalid_argument,
      text("batch: its samples come ", name_of(origin.order), ", those of the training state ",
           name_of(position_.order), "; create the loader with the same shuffle, seed, weights, flip and crop"));
}

void Stepper::end_epoch(const BatchPosition& end, const BatchPosition& next) {
  if (position_.has_batch && is_same_place(position_.batch, end)) position_.batch = next;
}

void Stepper::restore(const TrainingState& state) {
  position_ = state.position;
  settings_.restore(state);
  updates_ = state.updates;
  sync_.restore_updates(updates_);
  loss_scale_ = state.loss_scale;
  sync_.restore_loss_scale(loss_scale_);
  expects_order_ = false;
  has_gradients_ = false;
}

}  // namespace troika
