// The numbers that updates read: settings of a trainer and of its groups, and the schedule of
// learning rates.
#pragma once

#include <string>
#include <vector>

#include "train/trainer_options.h"
#include "train/training_state.h"

namespace troika {

// Groups are indices into the options' groups; -1 is the trainer.
class UpdateSettings {
 public:
  explicit UpdateSettings(const TrainerOptions& options);

  // Holds from the next step on. INVALID_ARGUMENT if there is no such group, or the setting or
  // value does not fit.
  void set(int group, Setting setting, double value);
  double get(int group, Setting setting) const;  // a learning rate before schedule and warm-up
  double learning_rate(int64_t step, int group) const;
  // The settings of a step, [rows, columns], the trainer's row first.
  void fill(int64_t step, std::vector<float>& numbers) const;
  size_t size() const { return (groups() + 1) * columns_.size(); }

  // Takes the caller's metric, for a schedule on plateau. INVALID_ARGUMENT with another schedule,
  // or if the metric is not finite.
  void report(double metric);

  // For training states: each row's own values, and the state of the schedule.
  std::vector<SettingValues> rows() const;
  const Plateau& plateau() const { return plateau_; }
  bool falls_in_warmup() const { return schedule_.falls_in_warmup; }
  void restore(const TrainingState& state);

 private:
  size_t groups() const { return spec_.groups.size(); }
  size_t row_of(int group) const;
  std::string name_of_row(size_t row) const;
  void check_setting(size_t row, Setting setting) const;

  StepSpec spec_;  // with the present values
  Schedule schedule_;
  const std::vector<Setting> columns_;
  const std::vector<std::string> slots_;  // that were made
  Plateau plateau_;
};

}  // namespace troika
