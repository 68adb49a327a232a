// The formulas of the schedules: include/troika/trainer_options.h states them.
#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace troika {
namespace {

// Returns the value at `done`, in [0, 1], on half a cosine from `first` to `last`.
double along_cosine(double first, double last, double done) {
  return last + (first - last) * (1 + std::cos(std::numbers::pi * done)) / 2;
}

// torch.optim.lr_scheduler.OneCycleLR: up to step rise * period - 1, down to step period - 1.
double one_cycle(const Schedule& s, int64_t step, double rate) {
  const double first = rate / s.divisor, last = first / s.final_divisor, n = static_cast<double>(step),
               top = s.rise * static_cast<double>(s.period) - 1, end = static_cast<double>(s.period) - 1;
  if (n <= top) return along_cosine(first, rate, top > 0 ? n / top : 1);
  return along_cosine(rate, last, std::min(1.0, (n - top) / (end - top)));
}

// Returns the periods that have passed after a warm-up. Schedules that end with the period end at
// the same step with a warm-up and without one.
double periods_at(const Schedule& s, int64_t step) {
  const int64_t warm = s.waits_for_warmup() ? s.warmup_steps : 0;
  const int64_t length = s.kind == ScheduleKind::exponential ? s.period : s.period - warm;
  if (s.period == 0 || step < warm) return 0;
  return length > 0 ? static_cast<double>(step - warm) / static_cast<double>(length) : 1;
}

double scheduled(const Schedule& s, int64_t step, double rate, int64_t reductions) {
  const double periods = periods_at(s, step);
  switch (s.kind) {
    case ScheduleKind::constant: break;
    case ScheduleKind::step: return rate * std::pow(s.gamma, static_cast<double>(step / s.period));
    case ScheduleKind::cosine: return along_cosine(rate, s.minimum, std::min(1.0, periods));
    case ScheduleKind::multi_step:
      return rate *
             std::pow(s.gamma, static_cast<double>(std::upper_bound(s.milestones.begin(), s.milestones.end(), step) -
                                                   s.milestones.begin()));
    case ScheduleKind::exponential: return rate * std::pow(s.gamma, periods);
    case ScheduleKind::polynomial:
      return s.minimum + (rate - s.minimum) * std::pow(1 - std::min(1.0, periods), s.power);
    case ScheduleKind::one_cycle: return one_cycle(s, step, rate);
    case ScheduleKind::plateau:
      return std::max(rate * std::pow(s.gamma, static_cast<double>(reductions)), std::min(rate, s.minimum));
    case ScheduleKind::table:
      return rate * s.table[static_cast<size_t>(std::min(step, static_cast<int64_t>(s.table.size()) - 1))];
  }
  return rate;
}

}  // namespace

bool Schedule::waits_for_warmup() const {
  const bool is_smooth =
      kind == ScheduleKind::cosine || kind == ScheduleKind::polynomial || kind == ScheduleKind::exponential;
  return is_smooth && warmup_steps > 0 && !falls_in_warmup;
}

double Schedule::at(int64_t step, double rate, int64_t reductions) const {
  const double warm = step < warmup_steps ? static_cast<double>(step + 1) / static_cast<double>(warmup_steps) : 1;
  return scheduled(*this, step, rate, reductions) * warm;
}

void Plateau::report(double metric, const Schedule& schedule) {
  const double margin = schedule.maximizes ? 1 + schedule.threshold : 1 - schedule.threshold;
  const bool is_better = std::isnan(best) || (schedule.maximizes ? metric > best * margin : metric < best * margin);
  if (is_better) {
    best = metric;
    bad = 0;
  } else if (++bad > schedule.patience) {
    ++reductions;
    bad = 0;
  }
}

}  // namespace troika
