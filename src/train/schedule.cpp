// Learning-rate schedules.
#include <cmath>
#include <numbers>

#include "train/trainer_options.h"

namespace troika {

double Schedule::at(int64_t step, double rate) const {
  double r = rate;
  if (kind == ScheduleKind::step) {
    r = rate * std::pow(gamma, static_cast<double>(step / period));
  } else if (kind == ScheduleKind::cosine) {
    const double done = std::min(1.0, static_cast<double>(step) / static_cast<double>(period));
    r = minimum + (rate - minimum) * (1 + std::cos(std::numbers::pi * done)) / 2;
  }
  if (step < warmup_steps) r *= static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  return r;
}

}  // namespace troika
