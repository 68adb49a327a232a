// Settings by row.
#include "train/update_settings.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/text.h"

namespace troika {

UpdateSettings::UpdateSettings(const TrainerOptions& options)
    : spec_(options), schedule_(options.schedule), columns_(options.columns()), slots_(options.slots()) {}

size_t UpdateSettings::row_of(int group) const {
  if (group < -1 || group >= static_cast<int>(groups()))
    throw Error(Status::invalid_argument, text("trainer: group is ", group, ", need -1",
                                               groups() == 0 ? "; there are no groups" : text(" to ", groups() - 1)));
  return static_cast<size_t>(group + 1);
}

// Returns "trainer: " or "group 2 ('fc.*'): ".
std::string UpdateSettings::name_of_row(size_t row) const {
  return row == 0 ? "trainer: " : text("group ", row - 1, " ('", spec_.groups[row - 1].pattern, "'): ");
}

void UpdateSettings::check_setting(size_t row, Setting setting) const {
  if (std::find(columns_.begin(), columns_.end(), setting) == columns_.end())
    throw Error(Status::invalid_argument,
                text(name_of_row(row), "optimizer ", spec_.optimizer->name, " has no ", name_of(setting)));
}

void UpdateSettings::set(int group, Setting setting, double value) {
  const size_t row = row_of(group);
  check_setting(row, setting);
  if (const std::string refusal = refusal_of(setting, value); !refusal.empty())
    throw Error(Status::invalid_argument, name_of_row(row) + refusal);
  for (const OptimizerSlot& slot : spec_.optimizer->slots)
    if (slot.needs == setting && value > 0 && std::find(slots_.begin(), slots_.end(), slot.name) == slots_.end())
      throw Error(Status::invalid_argument, text(name_of_row(row), name_of(setting), " is ", value,
                                                 ", needs 0: the trainer was attached without ", slot.name));
  (row == 0 ? spec_.settings : spec_.groups[row - 1].settings)[setting] = value;
}

double UpdateSettings::get(int group, Setting setting) const {
  const size_t row = row_of(group);
  check_setting(row, setting);
  return spec_.setting(row, setting);
}

double UpdateSettings::learning_rate(int64_t step, int group) const {
  return schedule_.at(step, spec_.setting(row_of(group), Setting::learning_rate), plateau_.reductions);
}

void UpdateSettings::fill(int64_t step, std::vector<float>& numbers) const {
  size_t i = 0;
  for (size_t row = 0; row <= groups(); ++row)
    for (Setting setting : columns_)
      numbers[i++] =
          static_cast<float>(setting == Setting::learning_rate ? learning_rate(step, static_cast<int>(row) - 1)
                                                               : spec_.setting(row, setting));
}

void UpdateSettings::report(double metric) {
  if (schedule_.kind != ScheduleKind::plateau)
    throw Error(Status::invalid_argument, "metric: the trainer's schedule is not on plateau");
  if (std::isnan(metric)) throw Error(Status::invalid_argument, "metric: is not a number");
  plateau_.report(metric, schedule_);
}

std::vector<SettingValues> UpdateSettings::rows() const {
  std::vector<SettingValues> rows = {spec_.settings};
  for (const ParameterGroup& group : spec_.groups) rows.push_back(group.settings);
  return rows;
}

void UpdateSettings::restore(const TrainingState& state) {
  spec_.settings = state.settings[0];
  for (size_t g = 0; g < groups(); ++g) spec_.groups[g].settings = state.settings[g + 1];
  plateau_ = state.plateau;
  schedule_.falls_in_warmup = state.falls_in_warmup;
}

}  // namespace troika
