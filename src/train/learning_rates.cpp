// Rates by group.
#include "train/learning_rates.h"

#include <cmath>

#include "core/error.h"
#include "core/text.h"

namespace troika {

LearningRates::LearningRates(const TrainerOptions& options) : options_(options) {
  base_.push_back(options.learning_rate);
  for (const ParameterGroup& group : options.groups) base_.push_back(group.learning_rate.value_or(-1));
}

void LearningRates::check_group(int group) const {
  const size_t groups = options_.groups.size();
  if (group >= -1 && group < static_cast<int>(groups)) return;
  throw Error(Status::invalid_argument, text("learning rate: group is ", group, ", need -1",
                                             groups == 0 ? "; the trainer has no groups" : text(" to ", groups - 1)));
}

void LearningRates::set(int group, double rate) {
  check_group(group);
  if (!(rate >= 0) || !std::isfinite(rate))
    throw Error(Status::invalid_argument, text("learning rate: found ", rate, ", need a finite number of at least 0"));
  double& base = base_[static_cast<size_t>(group + 1)];
  if (base < 0)
    throw Error(Status::invalid_argument,
                text("learning rate: group ", group, " ('", options_.groups[static_cast<size_t>(group)].pattern,
                     "') was attached without a rate of its own"));
  base = rate;
}

double LearningRates::at(int64_t step, int group) const {
  check_group(group);
  const double own = base_[static_cast<size_t>(group + 1)];
  return options_.schedule.at(step, own < 0 ? base_[0] : own);
}

void LearningRates::fill(int64_t step, std::vector<float>& rates) const {
  for (size_t i = 0; i < base_.size(); ++i) rates[i] = static_cast<float>(at(step, static_cast<int>(i) - 1));
}

}  // namespace troika
