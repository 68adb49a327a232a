// A trainer's options: the step, and how it is run.
#pragma once

#include "plan/step_spec.h"
#include "train/schedule.h"

namespace troika {

struct TrainerOptions : StepSpec {
  TrainerOptions() { settings[Setting::learning_rate] = 0.1; }

  Schedule schedule;
  bool evaluates_average = true;  // if there are averages, evaluation and prediction use them
  double loss_scale = 0;          // at the start, if conditioning.is_scaled
  uint64_t seed = 0;
  int64_t deadline_ms = 600000;
  bool collect_trace = false;
  bool keeps_samples = true;  // datasets on devices that gather batches themselves
};

}  // namespace troika
