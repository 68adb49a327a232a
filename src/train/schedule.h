// Learning-rate schedules: by what a run's learning rates change from step to step.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace troika {

enum class ScheduleKind : int32_t {
  constant = 1,
  step,
  cosine,
  multi_step,
  exponential,
  polynomial,
  one_cycle,
  plateau,
  table,
};

struct Schedule {
  ScheduleKind kind = ScheduleKind::constant;
  int64_t period = 0;  // steps
  double gamma = 0.1;
  double minimum = 0;
  int64_t warmup_steps = 0;
  double power = 1;                      // polynomial
  double rise = 0.3;                     // one_cycle: the part of the period in which the rate rises
  double divisor = 25;                   // one_cycle: the first rate is the base rate over it
  double final_divisor = 1e4;            // one_cycle: the last rate is the first over it
  int64_t patience = 10;                 // plateau: metrics without progress that are accepted
  double threshold = 1e-4;               // plateau: progress is relative to the best metric
  bool maximizes = false;                // plateau: larger metrics are better
  std::vector<int64_t> milestones = {};  // multi_step: steps, in order
  std::vector<double> table = {};        // table: factors of the base rate, by step; the last one stays

  // Returns the learning rate of step `step`, counted from 0, for the base rate `rate`. `reductions` is how often a
  // plateau has lowered it.
  double at(int64_t step, double rate, int64_t reductions = 0) const;
};

// What a plateau schedule has seen of the caller's metric: torch.optim.lr_scheduler.ReduceLROnPlateau, without cooldown.
struct Plateau {
  double best = std::numeric_limits<double>::quiet_NaN();  // none so far
  int64_t bad = 0;                                         // metrics since the best
  int64_t reductions = 0;                                  // times that the rate was lowered

  void report(double metric, const Schedule& schedule);
  bool operator==(const Plateau&) const = default;
};

}  // namespace troika
