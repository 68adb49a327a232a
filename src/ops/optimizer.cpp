// The list of optimizers, and the settings that they share.
#include "ops/optimizer.h"

#include <algorithm>

#include "core/text.h"

namespace troika {
namespace {

constexpr double kLarge = 1e30;

struct Range {
  std::string_view name;
  double least, below;   // least <= value < below
  bool is_open = false;  // least < value
  bool is_flag = false;  // 0 or 1
};

// In the order of Setting.
constexpr Range kRanges[kSettings] = {
    {"learning_rate", 0, kLarge},
    {"weight_decay", 0, kLarge},
    {"momentum", 0, 1},
    {"nesterov", 0, 2, false, true},
    {"beta1", 0, 1},
    {"beta2", 0, 1},
    {"eps", 0, kLarge, true},
    {"alpha", 0, 1},
    {"trust", 0, kLarge, true},
};

const Range& range_of(Setting setting) { return kRanges[static_cast<size_t>(setting) - 1]; }

}  // namespace

std::string_view name_of(Setting setting) { return range_of(setting).name; }

std::optional<Setting> find_setting(std::string_view name) {
  for (size_t i = 0; i < kSettings; ++i)
    if (kRanges[i].name == name) return static_cast<Setting>(i + 1);
  return std::nullopt;
}

std::string refusal_of(Setting setting, double value) {
  const Range& range = range_of(setting);
  const bool fits = range.is_open ? value > range.least : value >= range.least;
  if (range.is_flag) return value == 0 || value == 1 ? "" : text(range.name, " is ", value, ", needs 0 or 1");
  if (fits && value < range.below) return "";
  return text(range.name, " is ", value, ", needs ", range.is_open ? "above " : "at least ", range.least, " and below ",
              range.below);
}

bool OptimizerDef::reads(Setting setting) const {
  if (setting == Setting::learning_rate || setting == Setting::weight_decay) return true;
  return std::any_of(settings.begin(), settings.end(),
                     [setting](const OptimizerSetting& own) { return own.setting == setting; });
}

const std::vector<const OptimizerDef*>& all_optimizers() {
  static const std::vector<const OptimizerDef*> list = {
#define TROIKA_OPTIMIZER(name) &name##_optimizer,
#include "ops/optimizers.def"
#undef TROIKA_OPTIMIZER
  };
  return list;
}

}  // namespace troika
