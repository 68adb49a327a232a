// The options --schedule and related ones: how the learning rate changes over a run. The tool's
// periods are epochs, the library's are steps.
#pragma once

#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/command_line.h"

namespace troika::cli {

struct ScheduleOptions {
  std::string name = "constant";
  double period = 0;  // epochs; 0: all epochs of the run
  double gamma = 0.1, minimum = 0, power = 1, rise = 0.3;
  std::string milestones;  // epochs, separated by commas
  int64_t patience = 10;   // epochs
  int64_t warmup_steps = 0;
};

// Whether the rate has reached its end after the period, so that a run cannot go on with it.
bool ends_with_period(const ScheduleOptions& options);

void add_schedule_options(const Command& command, ScheduleOptions& options);
// Refuses values that the library would refuse by its own names, and fills in the period of a run
// of so many epochs.
void complete_schedule(ScheduleOptions& options, int epochs);
// `milestones` is memory for the options of the trainer.
void set_schedule(const ScheduleOptions& options, int64_t steps_per_epoch, troika_trainer_options& out,
                  std::vector<int64_t>& milestones);

// Calls `visit(name, field)` for each option; names are those of the command line without the
// dashes.
template <typename Visitor>
void visit_schedule(ScheduleOptions& options, Visitor&& visit) {
  visit("schedule", options.name);
  visit("schedule-period", options.period);
  visit("gamma", options.gamma);
  visit("warmup", options.warmup_steps);
  visit("lr-min", options.minimum);
  visit("power", options.power);
  visit("rise", options.rise);
  visit("milestones", options.milestones);
  visit("patience", options.patience);
}

}  // namespace troika::cli
