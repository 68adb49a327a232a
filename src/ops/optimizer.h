// The definition of an optimizer: the op of its update, the slots that the op keeps for each
// parameter, and the settings that it reads. One definition per optimizer, one file per definition,
// listed in optimizers.def.
#pragma once

#include <array>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/op_def.h"

namespace troika {

// A number that an update reads. A trainer has one value of each setting, and a group of parameters
// may have its own.
enum class Setting : int32_t {
  learning_rate = 1,
  weight_decay,
  momentum,
  nesterov,  // 0 or 1
  beta1,
  beta2,
  eps,
  alpha,
  trust,
};
constexpr size_t kSettings = 9;
std::string_view name_of(Setting setting);
std::optional<Setting> find_setting(std::string_view name);

// Returns the reason why the setting cannot have that value, such as "momentum is 2, needs at least
// 0 and below 1". Empty if it can.
std::string refusal_of(Setting setting, double value);

// A value, or none, for each setting.
class SettingValues {
 public:
  SettingValues(std::initializer_list<std::pair<Setting, double>> values = {}) {
    values_.fill(std::nan(""));
    for (const auto& [setting, value] : values) (*this)[setting] = value;
  }
  double& operator[](Setting setting) { return values_[index(setting)]; }
  double operator[](Setting setting) const { return values_[index(setting)]; }
  bool has(Setting setting) const { return !std::isnan((*this)[setting]); }

 private:
  static size_t index(Setting setting) { return static_cast<size_t>(setting) - 1; }
  std::array<double, kSettings> values_;
};

struct OptimizerSetting {
  Setting setting;
  double standard;  // if the caller names no value
};

// State with the shape of a parameter, f32, 0 at first.
struct OptimizerSlot {
  std::string_view name;                        // "momentum": part of the names in training states
  std::optional<Setting> needs = std::nullopt;  // without a value above 0 there is no such slot
};

struct OptimizerDef {
  std::string_view name;  // "adam"
  const OpDef& update;
  // Runs before the update and computes two squared norms per parameter; null: the update needs
  // none. A parameter with one axis has no norms, and no weight decay.
  const OpDef* norms = nullptr;
  std::vector<OptimizerSetting>
      settings;  // after learning rate and weight decay, in the order of the settings' columns
  std::vector<OptimizerSlot> slots;
  bool counts_updates = false;  // the update reads `count`

  bool reads(Setting setting) const;
};

// Every optimizer, under its name with `_optimizer` appended: adam_optimizer.
#define TROIKA_OPTIMIZER(name) extern const OptimizerDef name##_optimizer;
#include "ops/optimizers.def"
#undef TROIKA_OPTIMIZER

const std::vector<const OptimizerDef*>& all_optimizers();  // in the order of optimizers.def

}  // namespace troika
