// Trains on one batch after another. Holds the learning rates, the position in the run, the loss
// scale and a failure.
#pragma once

#include <exception>

#include "train/attachment.h"
#include "train/results.h"
#include "train/state_sync.h"
#include "train/training_state.h"
#include "train/update_settings.h"

namespace troika {

class Stepper {
 public:
  // All must outlive it.
  Stepper(Attachment& attached, StateSync& sync, const TrainerOptions& options);

  // A step has three parts, so that the host can start the next step before it reads the results of
  // the last one. Plans for the batch are prepared. `start` counts the step, and returns a result
  // without the numbers that the devices report.
  StepResult start(const BatchView& view, const BatchOrigin* origin, Results wants);
  // Runs one pass of a step in pieces: the pass after so many since the last update. Its plans are
  // prepared.
  void run_pass(const BatchView& view, int64_t earlier, Results wants, const StepPiece& piece);
  void read_losses(StepResult& result) const;  // of the last run
  void collect();                              // waits for the last step, which was started for `earlier` results
  void finish(StepResult& result);

  UpdateSettings& settings() { return settings_; }
  double learning_rate(int group) const { return settings_.learning_rate(position_.step, group); }  // of the next step
  int64_t settings_checksum() const;  // of the next step
  int64_t step() const { return position_.step; }                                                   // steps done
  // Of the next step; 1 without loss scaling.
  double loss_scale() const { return options_.conditioning.is_scaled ? static_cast<double>(loss_scale_[0]) : 1; }
  // The factor by which the last step's gradients are multiplied.
  float gradient_scale() const { return options_.conditioning.is_scaled ? last_loss_scale_ : 1; }
  float next_gradient_scale() const { return options_.conditioning.is_scaled ? loss_scale_[0] : 1; }
  bool has_gradients() const { return has_gradients_; }

  // COMM, from then on, after a step that failed half way: replicas may differ.
  void check_unbroken() const;
  bool is_broken() const { return broken_ != nullptr; }

  TrainingState state() const;
  void restore(const TrainingState& state);
  // If the next batch stands at the restored state's position, it must come in the order of that
  // state.
  void expect_order() { expects_order_ = position_.has_batch; }
  void check_order(const BatchOrigin& origin) const;
  // Goes to `next` if no batch has come since `end`, at which an epoch has turned out to end.
  void end_epoch(const BatchPosition& end, const BatchPosition& next);

 private:
  // Runs on the devices. If the run fails, the trainer is broken.
  template <typename Run>
  void attempt(Run run);

  Attachment& attached_;
  StateSync& sync_;
  const TrainerOptions& options_;
  UpdateSettings settings_;
  TrainingPosition position_;
  StepNumbers numbers_;              // of the step in progress
  std::array<float, 2> loss_scale_;  // as every replica holds it after the last step
  float last_loss_scale_ = 1;
  std::vector<int64_t> updates_;  // by row of the settings, as every replica holds them after the last step
  bool expects_order_ = false;
  bool has_gradients_ = false;
  std::exception_ptr broken_;
};

}  // namespace troika
