// Properties that follow from the options of a step.
#include "plan/step_spec.h"

namespace troika {

double StepSpec::setting(size_t row, Setting setting) const {
  if (row > 0 && groups[row - 1].settings.has(setting)) return groups[row - 1].settings[setting];
  if (settings.has(setting)) return settings[setting];
  for (const OptimizerSetting& own : optimizer->settings)
    if (own.setting == setting) return own.standard;
  return 0;
}

std::vector<Setting> StepSpec::columns() const {
  std::vector<Setting> columns = {Setting::learning_rate, Setting::weight_decay};
  for (const OptimizerSetting& own : optimizer->settings) columns.push_back(own.setting);
  return columns;
}

std::vector<std::string> StepSpec::slots() const {
  std::vector<std::string> names;
  for (const OptimizerSlot& slot : optimizer->slots) {
    bool is_needed = !slot.needs;
    for (size_t row = 0; slot.needs && row <= groups.size(); ++row)
      is_needed = is_needed || setting(row, *slot.needs) > 0;
    if (is_needed) names.emplace_back(slot.name);
  }
  if (average_decay > 0) names.emplace_back(kAverageSlot);
  return names;
}

}  // namespace troika
