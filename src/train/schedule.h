// Learning-rate schedules: how a run's learning rates change from step to step.
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
  double divisor = 25;                   // one_cycle: the base rate divided by the first rate
  double final_divisor = 1e4;            // one_cycle: the first rate divided by the last rate
  int64_t patience = 10;                 // plateau: metrics without progress that are accepted
  double threshold = 1e-4;               // plateau: progress is relative to the best metric
  bool maximizes = false;                // plateau: larger metrics are better
  std::vector<int64_t> milestones = {};  // multi_step: steps, in order
  std::vector<double> table = {};        // table: factors of the base rate, by step; the last one stays
  // Earlier versions let cosine, polynomial and exponential fall during the warm-up too. Runs that
  // began with them go on so.
  bool falls_in_warmup = false;

  // Whether the fall begins after a warm-up, and not with the run.
  bool waits_for_warmup() const;

  // Returns the learning rate of step `step`, counted from 0. `rate` is the base rate. `reductions`
  // is the number of times that a plateau has lowered the rate.
  double at(int64_t step, double rate, int64_t reductions = 0) const;
};

// The state of a plateau schedule: torch.optim.lr_scheduler.ReduceLROnPlateau, without cooldown.
struct Plateau {
  double best = std::numeric_limits<double>::quiet_NaN();  // none so far
  int64_t bad = 0;                                         // metrics since the best
  int64_t reductions = 0;                                  // times that the rate was lowered

  void report(double metric, const Schedule& schedule);
  bool operator==(const Plateau&) const = default;
};

}  // namespace troika
