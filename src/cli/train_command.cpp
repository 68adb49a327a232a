// `troika train`: the options of a run, those that run.json remembers, and what resuming may
// change.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/folder_lock.h"
#include "cli/processes.h"
#include "cli/precision.h"
#include "cli/text.h"
#include "cli/training.h"
#include "core/path.h"

namespace troika::cli {
namespace {

using Json = nlohmann::ordered_json;

struct TrainArguments {
  TrainOptions options;
  std::string out, resume, progress = "auto";
  int processes = 1;
  double progress_seconds = 60;
};

// Calls `visit(name, field)` for the identity of the run; names are those of the command line
// without the dashes.
template <typename Visitor>
void visit_fixed(TrainOptions& options, Visitor&& visit) {
  visit("model", options.model);
  visit("synthetic", options.data.synthetic);
  visit("resize", options.data.resize);
  visit("steps", options.data.steps);
  visit("mean", options.data.mean);
  visit("std", options.data.std);
  visit("limit-train", options.data.limit_train);
  visit("limit-test", options.data.limit_test);
  visit("batch", options.batch);
  visit_optimizer(options.optimizer, visit);
  visit_schedule(options.schedule, visit);
  visit("seed", options.seed);
  visit("precision", options.precision);
  visit("classes", options.data.classes);
  visit("micro-batches", options.mesh.micro_batches);
  visit("logical-shards", options.mesh.logical_shards);
  visit("sync-batch-norm", options.replication.sync_batch_norm);
  visit("compress-gradients", options.replication.compression);
}

// The same for how the run is computed.
template <typename Visitor>
void visit_movable(TrainOptions& options, Visitor&& visit) {
  visit("data", options.data.directory);
  visit("devices", options.devices);
  visit("epochs", options.epochs);
  visit("eval-devices", options.eval_devices);
  visit("bucket-bytes", options.bucket_bytes);
  visit("threads", options.threads);
  visit("save-every", options.save_every);
  visit("mesh", options.mesh.mesh);
  visit("layer-schedule", options.mesh.layer_schedule);
  visit("layer-chunks", options.mesh.layer_chunks);
  visit("layer-cuts", options.mesh.layer_cuts);
  visit("recompute-segments", options.recompute.segments);
  visit("recompute-layers", options.recompute.layers);
  visit("activation-budget", options.recompute.budget_bytes);
  visit("shard-optimizer", options.replication.shard_optimizer);
  visit("late-updates", options.replication.late_updates);
  visit("tensorboard", options.tensorboard.folder);
  visit("tensorboard-every", options.tensorboard.every);
}

// The options of the first version, which every run.json has.
constexpr const char* kFirstOptions[] = {
    "model",        "synthetic", "resize", "mean",     "std",          "limit-train", "limit-test",  "batch",
    "lr",           "momentum",  "seed",   "nesterov", "schedule",     "gamma",       "warmup",      "schedule-period",
    "weight-decay", "data",      "epochs", "devices",  "eval-devices", "threads",     "bucket-bytes"};

// Options that a run.json of an earlier version lacks: its run had their defaults.
void add_newer_options(Json& run) {
  if (!run.is_object()) return;
  TrainOptions defaults;
  const auto add = [&](const char* name, auto& field) {
    const bool is_first =
        std::find(std::begin(kFirstOptions), std::end(kFirstOptions), std::string(name)) != std::end(kFirstOptions);
    if (!is_first && !run.contains(name)) run[name] = field;
  };
  visit_fixed(defaults, add);
  visit_movable(defaults, add);
}

std::string shown(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

Json print_sums(const EpochSums& sums) {
  return {{"step", sums.step},       {"samples", sums.samples}, {"labels", sums.labels},
          {"correct", sums.correct}, {"loss", sums.loss},       {"seconds", sums.seconds}};
}

// The form of a field of this type in run.json.
template <typename T>
constexpr const char* needed() {
  if constexpr (std::is_same_v<T, std::string>) return "a text";
  if constexpr (std::is_same_v<T, bool>) return "true or false";
  return std::is_floating_point_v<T> ? "a number"
         : std::is_signed_v<T>       ? "a whole number"
                                     : "a whole number of at least 0";
}

template <typename T>
bool is_a(const Json& value) {
  if constexpr (std::is_same_v<T, std::string>) return value.is_string();
  if constexpr (std::is_same_v<T, bool>) return value.is_boolean();
  if constexpr (std::is_floating_point_v<T>) return value.is_number();
  return value.is_number_integer() && Json(value.get<T>()) == value;
}

// An object of run.json, whose fields must exist and have the right type.
class SavedObject {
 public:
  SavedObject(const Json& object, const std::filesystem::path& file) : object_(object), file_(file) {
    if (!object.is_object()) fail("is no JSON object");
  }

  bool has(const std::string& name) const { return object_.contains(name); }

  // Returns the object in field `name`, which exists.
  SavedObject inner(const std::string& name) const {
    const Json& found = object_.at(name);
    if (!found.is_object()) fail("has '" + name + "' " + printed(found) + ", need an object");
    SavedObject out(found, file_);
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
    throw Failure("'" + text_of(file_) + "' " + why + "; mend it, or begin a new run with --out");
  }

  const Json& object_;
  const std::filesystem::path& file_;
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

// Takes the options of run.json, and those of the command line that may differ. Returns the rest of
// run.json.
RunRecord read_run(const Command& command, TrainOptions& options, const RunFolder& folder) {
  if (!std::filesystem::exists(folder.options()))
    throw Failure("'" + text_of(folder.path) + "' is not a run folder: it has no run.json; begin one with --out");
  const std::filesystem::path file = folder.options();
  Json parsed = Json::parse(read_file(file), nullptr, false);  // a text that is not JSON is not an object either
  add_newer_options(parsed);
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
    if (!command.was_given((std::string("--") + name).c_str())) saved.read(name, field);
  });
  int epochs = 0;  // that the run was to have so far
  saved.read("epochs", epochs);
  if (ends_with_period(options.schedule) && options.epochs > epochs && options.epochs > options.schedule.period)
    refuse_value("--epochs", options.epochs,
                 formatted("at most %g, the end of the %s schedule, or begin a new run with a longer --schedule-period",
                           options.schedule.period, options.schedule.name.c_str()));
  RunRecord record;
  saved.read("dataset", record.data);
  if (saved.has("last_stop")) record.last_stop = parse_sums(saved.inner("last_stop"));
  return record;
}

void write_run(TrainOptions options, const RunFolder& folder, const RunRecord& record) {
  Json run;
  const auto remember = [&](const char* name, auto& field) { run[name] = field; };
  visit_fixed(options, remember);
  visit_movable(options, remember);
  run["dataset"] = record.data;
  if (record.last_stop.step > 0) run["last_stop"] = print_sums(record.last_stop);
  write_file(folder.options(), run.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

// Refuses values that the library cannot know, and fills in those that follow from other options.
void complete(TrainOptions& options) {
  if (options.batch < 1) refuse_value("--batch", options.batch, "at least 1");
  if (options.epochs < 1) refuse_value("--epochs", options.epochs, "at least 1");
  complete_optimizer(options.optimizer);
  complete_schedule(options.schedule, options.epochs);
  if (options.bucket_bytes < 0) refuse_value("--bucket-bytes", options.bucket_bytes, "at least 0");
  if (options.save_every < 0) refuse_value("--save-every", options.save_every, "at least 1, or 0 for epoch ends only");
  check_recompute(options.recompute);
  complete_tensorboard(options.tensorboard);
  if (options.data.synthetic == 0)
    options.data.directory = text_of(std::filesystem::absolute(path_of(options.data.resolved_directory())));
}

// Locks the folder for this process if no other process trains in it, and refuses to destroy an
// earlier run.
void claim(FolderLock& lock, const RunFolder& folder, bool is_resumed) {
  lock.take(folder.path);
  const std::string name = text_of(folder.path);
  const std::filesystem::path trace = folder.trace();
  if (is_resumed && !trace.empty() && trace != folder.checkpoint())
    throw Failure("'" + name + "' has " + text_of(trace.filename()) + " but no " +
                  text_of(folder.checkpoint().filename()) +
                  " to go on from; put it back, or begin a new run with --out");
  if (is_resumed || trace.empty()) return;
  if (std::filesystem::exists(folder.options()))
    throw Failure("'" + name + "' holds a run already; go on with --resume " + name + ", or give another --out");
  throw Failure("'" + name + "' holds " + text_of(trace.filename()) + " already; give another --out");
}

// A launcher that starts a job again means that the job goes on.
bool is_started_again() {
  const char* const attempt = std::getenv("TROIKA_RESTART");
  return attempt && std::atoi(attempt) > 0;
}

int train(const Command& command, TrainArguments& arguments) {
  if (arguments.processes != 1) return run_in_processes(command, arguments.processes);
  if (is_started_again() && std::filesystem::exists(RunFolder{path_of(arguments.out)}.checkpoint()))
    arguments.resume = std::exchange(arguments.out, "");
  if (arguments.out.empty() && arguments.resume.empty())
    throw Failure("no folder for the run; give --out RUN, or --resume RUN to go on");
  if (!(arguments.progress_seconds > 0)) refuse_value("--progress-seconds", arguments.progress_seconds, "above 0");
  const ProgressOptions progress{parse_progress(arguments.progress), arguments.progress_seconds};
  TrainOptions& options = arguments.options;
  const bool is_resumed = !arguments.resume.empty();
  const RunFolder folder{path_of(is_resumed ? arguments.resume : arguments.out)};
  const Job job;
  FolderLock lock;
  if (job.leads() && std::filesystem::exists(folder.options())) claim(lock, folder, is_resumed);
  RunRecord begun;
  if (is_resumed) begun = read_run(command, options, folder);
  complete(options);
  return run_training(options, folder, progress, job, is_resumed ? &begun : nullptr, [&](const RunRecord& record) {
    if (!job.leads()) return;
    std::error_code error;
    std::filesystem::create_directories(folder.path, error);
    if (error) throw Failure("cannot make the folder '" + text_of(folder.path) + "': " + error.message());
    if (!lock.is_taken()) claim(lock, folder, is_resumed);
    write_run(options, folder, record);
  });
}

}  // namespace

void add_train_command(CommandLine& line) {
  const Command command =
      line.add_command("train", "Trains a model, and leaves metrics, charts, weights and a checkpoint");
  const auto arguments = std::make_shared<TrainArguments>();
  TrainOptions& options = arguments->options;
  command.option("--model", options.model, kModelHelp);
  add_data_options(command, options.data, true);
  command.option("--devices", options.devices, "Such as cpu:0,cpu:1, or all; of each process");
  add_processes_option(command, arguments->processes);
  command.option("--batch", options.batch, "Samples per step, over all devices together");
  command.option("--epochs", options.epochs, "Passes over the training samples; may grow on resuming");
  command.option("--out", arguments->out, "Folder for the run's files", "RUN");
  command.option("--resume", arguments->resume, "Goes on with the run in this folder", "RUN");
  command.exclude("--out", "--resume");
  add_optimizer_options(command, options.optimizer);
  command.option("--seed", options.seed, "Seed of initial parameters, dropout and the order of samples");
  add_schedule_options(command, options.schedule);
  command.option("--save-every", options.save_every,
                 "Saves a checkpoint every so many steps too; 0: only at epoch ends", "STEPS");
  command.option("--progress", arguments->progress, "auto, bar, plain, json or off");
  command.option("--progress-seconds", arguments->progress_seconds,
                 "Seconds between two lines while an epoch runs, without a bar", "SECONDS");
  add_tensorboard_options(command, options.tensorboard);
  command.option("--precision", options.precision, kPrecisionHelp);
  command.option("--eval-devices", options.eval_devices, "Where to evaluate: all, or one of --devices");
  add_mesh_options(command, options.mesh);
  command.option("--bucket-bytes", options.bucket_bytes, "Gradients are all-reduced in buckets of about this size");
  add_recompute_options(command, options.recompute);
  add_replication_options(command, options.replication);
  command.option("--threads", options.threads, "CPU threads of all CPU devices together; 0: every core");
  command.option("--trace", options.trace,
                 "Writes the trace of the tenth step, or of the first epoch's last, for ui.perfetto.dev", "FILE");
  command.footer(
      "The run folder gets metrics.csv, accuracy.svg, loss.svg, weights.safetensors,\n"
      "checkpoint.safetensors, run.json and the folder status (see troika status). Ctrl-C saves a\n"
      "checkpoint and exits with 130 (SIGTERM: 143); a second one ends the program at once, without\n"
      "saving.");
  command.action([command, arguments] { return train(command, *arguments); });
}

}  // namespace troika::cli
