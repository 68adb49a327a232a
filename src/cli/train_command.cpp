// `troika train`: begins a run, or goes on with one.
#include <cstdlib>
#include <memory>
#include <utility>

#include "cli/augmentation.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/folder_lock.h"
#include "cli/model_file.h"
#include "cli/precision.h"
#include "cli/processes.h"
#include "cli/run_file.h"
#include "cli/training.h"
#include "core/path.h"

namespace troika::cli {
namespace {

struct TrainArguments {
  TrainOptions options;
  std::string out, resume, config, progress = "auto";
  int processes = 1;
  double progress_seconds = 60;
};

// Returns a path that means the same in any folder, for run.json. Empty: there is none.
std::string whole_path(const std::string& path) {
  return path.empty() ? path : text_of(std::filesystem::absolute(path_of(path)).lexically_normal());
}

// Refuses values that the library cannot know, and fills in those that follow from other options.
void complete(TrainOptions& options) {
  if (options.batch < 1) refuse_value("--batch", options.batch, "at least 1");
  if (options.epochs < 1) refuse_value("--epochs", options.epochs, "at least 1");
  parse_augmentation(options.augment);
  if (!(options.label_smoothing >= 0 && options.label_smoothing < 1))
    refuse_value("--label-smoothing", options.label_smoothing, "at least 0 and below 1");
  check_end(options.end);
  options.weights = whole_path(options.weights);  // also those of --config
  if (is_model_file(options.model)) options.model = whole_path(options.model);
  complete_optimizer(options.optimizer);
  complete_schedule(options.schedule, options.epochs);
  if (options.bucket_bytes < 0) refuse_value("--bucket-bytes", options.bucket_bytes, "at least 0");
  if (options.save_every < 0) refuse_value("--save-every", options.save_every, "at least 1, or 0 for epoch ends only");
  if (options.log_every < 0) refuse_value("--log-every", options.log_every, "at least 1, or 0 for no lines");
  check_recompute(options.recompute);
  complete_tensorboard(options.tensorboard);
  if (options.data.synthetic == 0) options.data.directory = whole_path(options.data.resolved_directory());
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
  TrainOptions& options = arguments.options;
  const bool is_resumed = !arguments.resume.empty();
  const RunFolder folder{path_of(is_resumed ? arguments.resume : arguments.out)};
  const Job job;
  FolderLock lock;
  if (job.leads() && std::filesystem::exists(folder.options())) claim(lock, folder, is_resumed);
  RunRecord begun;
  options.weights = whole_path(options.weights);
  if (is_model_file(options.model)) options.model = whole_path(options.model);
  if (is_resumed) begun = read_run(command, options, folder);
  if (is_resumed && is_model_file(options.model) && std::filesystem::exists(folder.weights()))
    options.layers = text_of(folder.weights());  // the file of the run's begin may have gone
  if (!is_resumed && !arguments.config.empty()) read_config(command, options, path_of(arguments.config));
  complete(options);
  const ProgressOptions progress{parse_progress(arguments.progress), arguments.progress_seconds, options.log_every};
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
      line.add_command("train", "Trains a model, and writes metrics, charts, weights and a checkpoint");
  const auto arguments = std::make_shared<TrainArguments>();
  TrainOptions& options = arguments->options;
  command.option("--model", options.model, kModelOrFileHelp, "NAME|FILE");
  add_data_options(command, options.data, true);
  command.option("--devices", options.devices, "The devices of each process, such as cpu:0,cpu:1, or all");
  add_processes_option(command, arguments->processes);
  command.option("--batch", options.batch, "Samples per step, over all devices together");
  command.flag("--drop-last", options.drop_last, "Leaves out a last batch of an epoch that is smaller");
  add_augmentation_option(command, options.augment);
  command.option("--label-smoothing", options.label_smoothing,
                 "Part of the training loss that is the mean over all classes instead of the label's, such as 0.1");
  command.option("--epochs", options.epochs, "Passes over the training samples; may grow on resuming");
  command.option("--out", arguments->out, "Folder for the run's files", "RUN");
  command.option("--resume", arguments->resume, "Goes on with the run in this folder", "RUN");
  command.exclude("--out", "--resume");
  command.option("--config", arguments->config,
                 "Begins with the options in this run.json; those of the command line come first", "FILE");
  command.exclude("--config", "--resume");
  command.option("--weights", options.weights,
                 "Begins from this .safetensors file; a last layer for other classes begins anew", "FILE");
  add_weight_names(command, options.weight_names);
  command.need("--strip-prefix", "--weights");
  command.need("--name-map", "--weights");
  add_end_options(command, options.end);
  add_optimizer_options(command, options.optimizer);
  command.option("--seed", options.seed,
                 "Seed of initial parameters, dropout, and the order and augmentation of samples");
  add_schedule_options(command, options.schedule);
  command.option("--save-every", options.save_every,
                 "Saves a checkpoint every so many steps too; 0: only at epoch ends", "STEPS");
  command.option("--log-every", options.log_every,
                 "Prints loss, learning rate and speed every so many steps; 0: only at epoch ends", "STEPS");
  command.option("--progress", arguments->progress, "auto, bar, plain, json or off");
  command.option("--progress-seconds", arguments->progress_seconds,
                 "Seconds between two lines while an epoch runs, without a bar", "SECONDS");
  add_tensorboard_options(command, options.tensorboard);
  command.option("--precision", options.precision, kPrecisionHelp);
  command.option("--eval-devices", options.eval_devices, "The device to evaluate on: one of --devices, or all");
  add_mesh_options(command, options.mesh);
  command.bytes("--bucket-bytes", options.bucket_bytes, "Gradients are all-reduced in buckets of about this size");
  add_recompute_options(command, options.recompute);
  add_replication_options(command, options.replication);
  command.option("--threads", options.threads, "CPU threads of all CPU devices together; 0: every core");
  command.option("--trace", options.trace,
                 "Writes the trace of the tenth step, or of the first epoch's last, for ui.perfetto.dev", "FILE");
  command.footer(
      "The run folder gets metrics.csv, accuracy.svg, loss.svg, checkpoint.safetensors, run.json and\n"
      "the folder status (see troika status). Weights of the last epoch are in weights.safetensors,\n"
      "those of the best one in weights.best.safetensors. Ctrl-C saves a checkpoint and exits with 130\n"
      "(SIGTERM: 143, a closed terminal: 129); a second one ends the program at once, without saving.\n"
      "A resumed run may have another --lr, also more --epochs.");
  command.action([command, arguments] { return train(command, *arguments); });
}

}  // namespace troika::cli
