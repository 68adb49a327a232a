// Base learning rates of a trainer and of its groups, and the schedule that all follow.
#pragma once

#include <vector>

#include "train/trainer_options.h"

namespace troika {

// Groups are indices into the options' groups; -1 is the trainer.
class LearningRates {
 public:
  explicit LearningRates(const TrainerOptions& options);  // which must outlive it

  // From the next step on. INVALID_ARGUMENT for a group without a rate of its own.
  void set(int group, double rate);
  double at(int64_t step, int group) const;
  // Of every group, the trainer first, as a step is fed.
  void fill(int64_t step, std::vector<float>& rates) const;

  const std::vector<double>& base() const {
    return base_;
  }  // the trainer's, then each group's; below 0: none of its own
  void restore(std::vector<double> base) { base_ = std::move(base); }

 private:
  void check_group(int group) const;

  const TrainerOptions& options_;
  std::vector<double> base_;
};

}  // namespace troika
