// Starts steps, and reads their results.
#include "train/stepper.h"

#include <algorithm>

#include "core/text.h"

namespace troika {

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

StepResult Stepper::start(const BatchView& view, const BatchOrigin* origin, Results wants) {
  settings_.fill(position_.step, numbers_.settings);
  numbers_.step = position_.step;
  StepResult result;
  result.learning_rate = learning_rate(-1);
  try {
    attached_.runner.run(Mode::train, attached_.ranks.all(), view, numbers_, wants);
  } catch (...) {
    broken_ = std::current_exception();
    throw;
  }
  result.samples = view.n;
  result.labels = view.counted;
  result.step = ++position_.step;
  sync_.mark_stepped();
  has_gradients_ = true;
  if (origin) {
    position_.batch = origin->next;
    position_.shuffle_seed = origin->shuffle_seed;
    position_.has_batch = true;
    expects_order_ = false;
  }
  return result;
}

void Stepper::collect() {
  try {
    attached_.runner.collect();
  } catch (...) {
    broken_ = std::current_exception();
    throw;
  }
}

void Stepper::finish(StepResult& result) {
  const RunResults& results = attached_.runner.results();
  result.loss = results.loss;
  if (options_.reduction == Reduction::mean) result.loss = mean_loss(result.loss, result.labels);
  result.correct = results.correct;
  result.gradient_norm = static_cast<double>(results.gradient_norm);
  if (options_.conditioning.is_scaled) {
    result.loss_scale = static_cast<double>(last_loss_scale_ = loss_scale_[0]);
    result.is_skipped = !results.is_finite;
    loss_scale_ = results.loss_scale;
  }
  // The host counts updates as count_updates does on every replica.
  if (!result.is_skipped)
    for (int64_t& updates : updates_) ++updates;
}

TrainingState Stepper::state() const {
  return {position_, settings_.rows(), settings_.plateau(), updates_, loss_scale_};
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
  if (!expects_order_ || origin.at != position_.batch || origin.shuffle_seed == position_.shuffle_seed) return;
  auto order = [](const std::optional<uint64_t>& seed) {
    return seed ? text("shuffled with seed ", *seed) : std::string("in the dataset's order");
  };
  throw Error(Status::invalid_argument,
              text("batch: its samples come ", order(origin.shuffle_seed), ", those of the training state ",
                   order(position_.shuffle_seed), "; create the loader with the same shuffle and seed"));
}

void Stepper::restore(const TrainingState& state) {
  position_ = state.position;
  settings_.restore(state.settings, state.plateau);
  updates_ = state.updates;
  sync_.restore_updates(updates_);
  loss_scale_ = state.loss_scale;
  sync_.restore_loss_scale(loss_scale_);
  expects_order_ = false;
  has_gradients_ = false;
}

}  // namespace troika
