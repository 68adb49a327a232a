// What a trainer is asked for: the step, and how it is run.
#pragma once

#include "plan/step_spec.h"

namespace troika {

enum class ScheduleKind : int32_t { constant = 1, step = 2, cosine = 3 };

struct Schedule {
  ScheduleKind kind = ScheduleKind::constant;
  int64_t period = 0;
  double gamma = 0.1;
  double minimum = 0;
  int64_t warmup_steps = 0;

  // The learning rate of step `step`, counted from 0, for the base rate `rate`.
  double at(int64_t step, double rate) const;
};

struct TrainerOptions : StepSpec {
  double learning_rate = 0.1;
  Schedule schedule;
  double loss_scale = 0;  // at the start, if sgd.is_scaled
  uint64_t seed = 0;
  int64_t deadline_ms = 600000;
  bool collect_trace = false;
  bool keeps_samples = true;  // datasets on devices that gather batches themselves
};

}  // namespace troika
