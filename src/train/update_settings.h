// The numbers that updates read: those of a trainer and of its groups, and the schedule that learning rates follow.
#pragma once

#include <string>
#include <vector>

#include "train/trainer_options.h"

namespace troika {

// Groups are indices into the options' groups; -1 is the trainer.
class UpdateSettings {
 public:
  explicit UpdateSettings(const TrainerOptions& options);

  // From the next step on. INVALID_ARGUMENT if the group, the setting or the value cannot be.
  void set(int group, Setting setting, double value);
  double get(int group, Setting setting) const;  // a learning rate before schedule and warm-up
  double learning_rate(int64_t step, int group) const;
  // The settings of a step, [rows, columns], the trainer's row first.
  void fill(int64_t step, std::vector<float>& numbers) const;
  size_t size() const { return (groups() + 1) * columns_.size(); }

  // The caller's metric, for a schedule on plateau. INVALID_ARGUMENT with another schedule, or if it is no number.
  void report(double metric);

  // What a training state keeps: values of their own, row by row, and what the plateau has seen.
  std::vector<SettingValues> rows() const;
  const Plateau& plateau() const { return plateau_; }
  void restore(const std::vector<SettingValues>& rows, const Plateau& plateau);

 private:
  size_t groups() const { return spec_.groups.size(); }
  size_t row_of(int group) const;
  std::string name_of_row(size_t row) const;
  void check_setting(size_t row, Setting setting) const;

  StepSpec spec_;  // with the present values
  const Schedule schedule_;
  const std::vector<Setting> columns_;
  const std::vector<std::string> slots_;  // that were made
  Plateau plateau_;
};

}  // namespace troika
