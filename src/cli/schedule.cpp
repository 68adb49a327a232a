// The options of a learning-rate schedule on the command line.
#include "cli/schedule.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "cli/text.h"

namespace troika::cli {
namespace {

constexpr double kMaxPeriod = 1e9;

struct Schedule {
  const char* name;
  int32_t constant;
  enum { none, needed, whole_run } period;
};
constexpr Schedule kSchedules[] = {
    {"constant", TROIKA_SCHEDULE_CONSTANT, Schedule::none},
    {"step", TROIKA_SCHEDULE_STEP, Schedule::needed},
    {"cosine", TROIKA_SCHEDULE_COSINE, Schedule::whole_run},
    {"multi-step", TROIKA_SCHEDULE_MULTI_STEP, Schedule::none},
    {"exponential", TROIKA_SCHEDULE_EXPONENTIAL, Schedule::needed},
    {"polynomial", TROIKA_SCHEDULE_POLYNOMIAL, Schedule::whole_run},
    {"one-cycle", TROIKA_SCHEDULE_ONE_CYCLE, Schedule::whole_run},
    {"plateau", TROIKA_SCHEDULE_PLATEAU, Schedule::none},
};

const Schedule& find_schedule(const std::string& name) {
  const auto found = std::find_if(std::begin(kSchedules), std::end(kSchedules),
                                  [&name](const Schedule& schedule) { return name == schedule.name; });
  if (found == std::end(kSchedules))
    refuse_value("--schedule", name,
                 "constant, step, cosine, multi-step, exponential, polynomial, one-cycle or plateau");
  return *found;
}

std::vector<double> parse_milestones(const std::string& text) {
  std::vector<double> epochs;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    size_t end = 0;
    double epoch = -1;
    try {
      epoch = std::stod(part, &end);
    } catch (const std::exception&) {}
    const bool is_in_order = epoch >= (epochs.empty() ? 0 : epochs.back());
    if (end != part.size() || !is_in_order || !(epoch < kMaxPeriod))
      refuse_value("--milestones", text, "epochs in order, separated by commas");
    epochs.push_back(epoch);
  }
  return epochs;
}

}  // namespace

bool ends_with_period(const ScheduleOptions& options) {
  return find_schedule(options.name).period == Schedule::whole_run;
}

void add_schedule_options(const Command& command, ScheduleOptions& options) {
  command.option("--schedule", options.name,
                 "Learning rate over time: constant, step, cosine, multi-step, exponential, polynomial, one-cycle or "
                 "plateau (of the test loss)");
  command.option("--schedule-period", options.period,
                 "Epochs of one step, of a fall by gamma (exponential), or to the schedule's end; 0: all epochs",
                 "EPOCHS");
  command.option("--gamma", options.gamma, "Factor of step, multi-step, exponential and plateau");
  command.option("--lr-min", options.minimum, "Least learning rate of cosine, polynomial and plateau");
  command.option("--power", options.power, "Power of polynomial");
  command.option("--rise", options.rise, "Part of one-cycle in which the rate rises");
  command.option("--milestones", options.milestones, "Epochs at which multi-step falls, such as 30,60,80", "EPOCHS");
  command.option("--patience", options.patience, "Epochs without a lower test loss that plateau accepts", "EPOCHS");
  command.option("--warmup", options.warmup_steps, "Steps (not epochs) of linear warm-up", "STEPS");
}

void complete_schedule(ScheduleOptions& options, int epochs) {
  const Schedule& schedule = find_schedule(options.name);
  for (const auto& [option, value] : {std::pair{"--gamma", options.gamma}, {"--lr-min", options.minimum}})
    if (!(value >= 0 && value < 1e30)) refuse_value(option, value, "a number of at least 0");
  if (!(options.power > 0)) refuse_value("--power", options.power, "a number above 0");
  if (!(options.rise > 0 && options.rise < 1)) refuse_value("--rise", options.rise, "above 0 and below 1");
  if (options.patience < 0) refuse_value("--patience", options.patience, "at least 0");
  if (options.warmup_steps < 0) refuse_value("--warmup", options.warmup_steps, "at least 0");
  if (options.period >= kMaxPeriod)
    refuse_value("--schedule-period", options.period, formatted("a number below %g", kMaxPeriod));
  if (schedule.period == Schedule::whole_run && options.period == 0) options.period = epochs;
  if (schedule.period != Schedule::none && !(options.period > 0))
    throw Failure("--schedule " + options.name + " needs --schedule-period EPOCHS above 0");
  if (parse_milestones(options.milestones).empty() && schedule.constant == TROIKA_SCHEDULE_MULTI_STEP)
    throw Failure("--schedule multi-step needs --milestones EPOCHS, such as 30,60,80");
}

void set_schedule(const ScheduleOptions& options, int64_t steps_per_epoch, troika_trainer_options& out,
                  std::vector<int64_t>& milestones) {
  const Schedule& schedule = find_schedule(options.name);
  const auto steps_of = [steps_per_epoch](double epochs) {
    return static_cast<int64_t>(std::llround(epochs * static_cast<double>(steps_per_epoch)));
  };
  out.schedule = schedule.constant;
  out.schedule_gamma = options.gamma;
  out.schedule_min = options.minimum;
  out.schedule_power = options.power;
  out.schedule_rise = options.rise;
  out.schedule_patience = options.patience;
  out.warmup_steps = options.warmup_steps;
  if (schedule.period != Schedule::none)
    out.schedule_period =
        std::max<int64_t>(schedule.constant == TROIKA_SCHEDULE_ONE_CYCLE ? 2 : 1, steps_of(options.period));
  milestones.clear();
  for (double epoch : parse_milestones(options.milestones)) milestones.push_back(steps_of(epoch));
  out.schedule_milestones = milestones.data();
  out.schedule_milestone_count = static_cast<int32_t>(milestones.size());
}

}  // namespace troika::cli
