// Reads run.json strictly, and writes it.
#include "cli/run_file.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/closest.h"
#include "cli/command_line.h"
#include "cli/files.h"
#include "cli/text.h"
#include "core/path.h"

namespace troika::cli {
namespace {

using Json = nlohmann::ordered_json;

// The options of the first version, which every run.json has.
constexpr const char* kFirstOptions[] = {
    "model",        "synthetic", "resize", "mean",     "std",          "limit-train", "limit-test",  "batch",
    "lr",           "momentum",  "seed",   "nesterov", "schedule",     "gamma",       "warmup",      "schedule-period",
    "weight-decay", "data",      "epochs", "devices",  "eval-devices", "threads",     "bucket-bytes"};

// Options that a run.json of an earlier version lacks: its run had their defaults.
void add_newer_options(Json& run) {
  if (!run.is_object()) return;
  TrainOptions defaults;
  defaults.optimizer.name = "sgd";
  const auto add = [&](const char* name, auto& field) {
    const bool is_first =
        std::find(std::begin(kFirstOptions), std::end(kFirstOptions), std::string(name)) != std::end(kFirstOptions);
    if (!is_first && !run.contains(name)) run[name] = field;
  };
  visit_fixed(defaults, add);
  visit_movable(defaults, add);
}

std::string shown(const Json& value) {
  return value.is_string() && value != "" ? value.get<std::string>() : value.dump();
}

Json print_sums(const EpochSums& sums) {
  return {{"step", sums.step},       {"samples", sums.samples}, {"labels", sums.labels},
          {"correct", sums.correct}, {"loss", sums.loss},       {"seconds", sums.seconds}};
}

// The form of a field of this type in run.json.
template <typename T>
constexpr const char* needed() {
  if constexpr (std::is_same_v<T, std::string>) return "a text";
  if constexpr (std::is_same_v<T, bool>) return "true or false";
  if constexpr (std::is_same_v<T, std::vector<std::string>>) return "a list of texts";
  return std::is_floating_point_v<T> ? "a number"
         : std::is_signed_v<T>       ? "a whole number"
                                     : "a whole number of at least 0";
}

template <typename T>
bool is_a(const Json& value) {
  if constexpr (std::is_same_v<T, std::string>) return value.is_string();
  if constexpr (std::is_same_v<T, bool>) return value.is_boolean();
  if constexpr (std::is_same_v<T, std::vector<std::string>>)
    return value.is_array() && std::all_of(value.begin(), value.end(), [](const Json& e) { return e.is_string(); });
  if constexpr (std::is_floating_point_v<T>) return value.is_number();
  return value.is_number_integer() && Json(value.get<T>()) == value;
}

constexpr const char* kMendRun = "mend it, or begin a new run with --out";
constexpr const char* kMendConfig = "mend it, or give the run.json of a run";

// An object of run.json, whose fields must exist and have the right type.
class SavedObject {
 public:
  // Messages end with `advice`.
  SavedObject(const Json& object, const std::filesystem::path& file, const char* advice = kMendRun)
      : object_(object), file_(file), advice_(advice) {
    if (!object.is_object()) fail("is no JSON object");
  }

  bool has(const std::string& name) const { return object_.contains(name); }

  // Returns the object in field `name`, which exists.
  SavedObject inner(const std::string& name) const {
    const Json& found = object_.at(name);
    if (!found.is_object()) fail("has '" + name + "' " + printed(found) + ", need an object");
    SavedObject out(found, file_, advice_);
    out.prefix_ = name + ".";
    return out;
  }

  template <typename T>
  void read(const std::string& name, T& field) const {
    const auto found = object_.find(name);
    if (found == object_.end()) fail("has no '" + prefix_ + name + "', need " + needed<T>());
    if (!is_a<T>(*found)) fail("has '" + prefix_ + name + "' " + printed(*found) + ", need " + needed<T>());
    found->get_to(field);
  }

 private:
  static std::string printed(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

  [[noreturn]] void fail(const std::string& why) const {
    throw Failure("'" + text_of(file_) + "' " + why + "; " + advice_);
  }

  const Json& object_;
  const std::filesystem::path& file_;
  const char* const advice_;
  std::string prefix_;  // of its fields' names in messages
};

EpochSums parse_sums(const SavedObject& source) {
  EpochSums sums;
  source.read("step", sums.step);
  source.read("samples", sums.samples);
  sums.labels = sums.samples;  // the meaning of files of earlier versions
  if (source.has("labels")) source.read("labels", sums.labels);
  source.read("correct", sums.correct);
  source.read("loss", sums.loss);
  source.read("seconds", sums.seconds);
  return sums;
}

RunRecord parse_record(const SavedObject& saved) {
  RunRecord record;
  saved.read("dataset", record.data);
  if (saved.has("last_stop")) record.last_stop = parse_sums(saved.inner("last_stop"));
  if (saved.has("processes")) saved.read("processes", record.processes);
  if (saved.has("class_names")) saved.read("class_names", record.class_names);
  return record;
}

bool is_given(const Command& command, const char* name) {
  return command.was_given((std::string("--") + name).c_str());
}

// Some options of run.json follow from others. If the command line has others, they follow from
// those instead.
void follow_command_line(const Command& command, const Json& run, TrainOptions& options) {
  if (is_given(command, "data")) options.data.synthetic = 0;
  if (is_given(command, "synthetic")) options.data.directory.clear();
  const auto has_another = [&](const char* name, const auto& value) {
    return is_given(command, name) && run.contains(name) && run[name] != Json(value);
  };
  if (has_another("optimizer", options.optimizer.name) && !is_given(command, "lr"))
    options.optimizer.learning_rate = NAN;
  ScheduleOptions& schedule = options.schedule;
  if (has_another("epochs", options.epochs) && !is_given(command, "schedule-period") && ends_with_period(schedule) &&
      run["epochs"] == Json(schedule.period))
    schedule.period = 0;
}

Json parse_run(const RunFolder& folder) {
  if (!std::filesystem::exists(folder.options()))
    throw Failure("'" + text_of(folder.path) +
                  "' is not a run folder: it has no run.json; begin one with: troika train --out RUN");
  Json parsed = Json::parse(read_file(folder.options()), nullptr, false);  // no JSON is no object either
  add_newer_options(parsed);
  return parsed;
}

}  // namespace

RunRecord read_run(const Command& command, TrainOptions& options, const RunFolder& folder) {
  const Json parsed = parse_run(folder);
  const std::filesystem::path file = folder.options();
  const SavedObject saved(parsed, file);
  visit_fixed(options, [&](const char* name, auto& field) {
    const std::string flag = std::string("--") + name;
    const Json given = field;
    saved.read(name, field);
    if (command.was_given(flag.c_str()) && Json(field) != given)
      throw Failure(flag + " " + shown(given) + " contradicts the run, which has " + shown(field) +
                    "; leave it out, or begin a new run with --out");
  });
  visit_movable(options, [&](const char* name, auto& field) {
    if (!is_given(command, name)) saved.read(name, field);
  });
  int epochs = 0;  // that the run was to have so far
  saved.read("epochs", epochs);
  if (ends_with_period(options.schedule) && options.epochs > epochs && options.epochs > options.schedule.period)
    refuse_value("--epochs", options.epochs,
                 formatted("at most %g, the end of the %s schedule, or begin a new run with a longer --schedule-period",
                           options.schedule.period, options.schedule.name.c_str()));
  return parse_record(saved);
}

void read_config(const Command& command, TrainOptions& options, const std::filesystem::path& file) {
  const Json parsed = Json::parse(read_file(file), nullptr, false);
  const SavedObject saved(parsed, file, kMendConfig);
  std::vector<std::string> names = {"dataset", "last_stop", "processes",
                                    "class_names"};  // of the run, not of its options
  const auto read = [&](const char* name, auto& field) {
    names.emplace_back(name);
    if (saved.has(name) && !is_given(command, name)) saved.read(name, field);
  };
  visit_fixed(options, read);
  visit_movable(options, read);
  for (const auto& entry : parsed.items())
    if (std::find(names.begin(), names.end(), entry.key()) == names.end())
      throw Failure("'" + text_of(file) + "' has '" + entry.key() + "', train has no such option" +
                    did_you_mean(entry.key(), names));
  follow_command_line(command, parsed, options);
}

TrainOptions read_run_options(const RunFolder& folder) {
  const Json parsed = parse_run(folder);
  const std::filesystem::path file = folder.options();
  const SavedObject saved(parsed, file);
  TrainOptions options;
  const auto read = [&](const char* name, auto& field) { saved.read(name, field); };
  visit_fixed(options, read);
  visit_movable(options, read);
  return options;
}

RunRecord read_run_record(const RunFolder& folder) {
  const Json parsed = parse_run(folder);
  const std::filesystem::path file = folder.options();
  return parse_record(SavedObject(parsed, file));
}

void write_run(TrainOptions options, const RunFolder& folder, const RunRecord& record) {
  Json run;
  const auto remember = [&](const char* name, auto& field) { run[name] = field; };
  visit_fixed(options, remember);
  visit_movable(options, remember);
  run["dataset"] = record.data;
  run["processes"] = record.processes;
  if (!record.class_names.empty()) run["class_names"] = record.class_names;
  if (record.last_stop.step > 0) run["last_stop"] = print_sums(record.last_stop);
  write_file(folder.options(), run.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace troika::cli
