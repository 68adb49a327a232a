// `troika train`: the options of a run, those that run.json remembers, and what resuming may change.
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/precision.h"
#include "cli/text.h"
#include "cli/training.h"

namespace troika::cli {
namespace {

using Json = nlohmann::ordered_json;

struct TrainArguments {
  TrainOptions options;
  std::string out, resume, progress = "auto";
};

// Calls `visit(name, field)` for what the run is; names are those of the command line without the dashes.
template <typename Visitor>
void visit_fixed(TrainOptions& options, Visitor&& visit) {
  visit("model", options.model);
  visit("synthetic", options.data.synthetic);
  visit("resize", options.data.resize);
  visit("mean", options.data.mean);
  visit("std", options.data.std);
  visit("limit-train", options.data.limit_train);
  visit("limit-test", options.data.limit_test);
  visit("batch", options.batch);
  visit("lr", options.learning_rate);
  visit("momentum", options.momentum);
  visit("weight-decay", options.weight_decay);
  visit("nesterov", options.nesterov);
  visit("seed", options.seed);
  visit("schedule", options.schedule);
  visit("schedule-period", options.schedule_period);
  visit("gamma", options.gamma);
  visit("warmup", options.warmup_steps);
  visit("precision", options.precision);
}

// The same for how and where it runs.
template <typename Visitor>
void visit_movable(TrainOptions& options, Visitor&& visit) {
  visit("data", options.data.directory);
  visit("devices", options.devices);
  visit("epochs", options.epochs);
  visit("eval-devices", options.eval_devices);
  visit("bucket-bytes", options.bucket_bytes);
  visit("threads", options.threads);
}

std::string shown(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

Json print_sums(const EpochSums& sums) {
  return {{"step", sums.step},
          {"samples", sums.samples},
          {"correct", sums.correct},
          {"loss", sums.loss},
          {"seconds", sums.seconds}};
}

EpochSums parse_sums(const Json& source) {
  EpochSums sums;
  source.at("step").get_to(sums.step);
  source.at("samples").get_to(sums.samples);
  source.at("correct").get_to(sums.correct);
  source.at("seconds").get_to(sums.seconds);
  sums.loss = source.at("loss").is_null() ? NAN : source.at("loss").get<double>();  // JSON has no other name for NaN
  return sums;
}

// Takes the options of run.json, and those of the command line where they may differ. Gives the rest of it.
RunRecord read_run(const Command& command, TrainOptions& options, const RunFolder& folder) {
  if (!std::filesystem::exists(folder.options()))
    throw Failure("'" + folder.path.string() + "' is not a run folder: it has no run.json; begin one with --out");
  try {
    const Json saved = Json::parse(read_file(folder.options()));
    visit_fixed(options, [&](const char* name, auto& field) {
      const std::string flag = std::string("--") + name;
      const Json given = field, before = saved.at(name);
      saved.at(name).get_to(field);
      if (command.was_given(flag.c_str()) && Json(field) != given)
        throw Failure(flag + " " + shown(given) + " contradicts the run, which has " + shown(before) +
                      "; leave it out, or begin a new run with --out");
    });
    visit_movable(options, [&](const char* name, auto& field) {
      if (!command.was_given((std::string("--") + name).c_str())) saved.at(name).get_to(field);
    });
    RunRecord record{saved.at("dataset").get<std::string>(), {}};
    if (saved.contains("last_stop")) record.last_stop = parse_sums(saved.at("last_stop"));
    return record;
  } catch (const Json::exception& e) {
    throw Failure("'" + folder.options().string() + "' is damaged (" + e.what() + "); begin a new run with --out");
  }
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

// Refuses what the library cannot know, and fills in what follows from other options.
void complete(TrainOptions& options) {
  if (options.batch < 1) refuse_value("--batch", options.batch, "at least 1");
  if (options.epochs < 1) refuse_value("--epochs", options.epochs, "at least 1");
  if (!(options.learning_rate >= 0)) refuse_value("--lr", options.learning_rate, "a number of at least 0");
  if (!(options.momentum >= 0 && options.momentum < 1))
    refuse_value("--momentum", options.momentum, "at least 0 and below 1");
  if (!(options.weight_decay >= 0)) refuse_value("--weight-decay", options.weight_decay, "a number of at least 0");
  if (!(options.gamma >= 0)) refuse_value("--gamma", options.gamma, "a number of at least 0");
  if (options.warmup_steps < 0) refuse_value("--warmup", options.warmup_steps, "at least 0");
  if (options.bucket_bytes < 0) refuse_value("--bucket-bytes", options.bucket_bytes, "at least 0");
  parse_schedule(options.schedule);
  if (options.schedule == "cosine" && options.schedule_period == 0) options.schedule_period = options.epochs;
  if (options.schedule != "constant" && !(options.schedule_period > 0))
    throw Failure("--schedule " + options.schedule + " needs --schedule-period EPOCHS above 0");
  if (options.data.synthetic == 0)
    options.data.directory = std::filesystem::absolute(options.data.resolved_directory()).string();
}

int train(const Command& command, TrainArguments& arguments) {
  if (arguments.out.empty() && arguments.resume.empty())
    throw Failure("no folder for the run; give --out RUN, or --resume RUN to go on");
  const ProgressMode mode = parse_progress(arguments.progress);
  TrainOptions& options = arguments.options;
  const bool is_resumed = !arguments.resume.empty();
  const RunFolder folder{is_resumed ? arguments.resume : arguments.out};
  RunRecord begun;
  if (is_resumed) {
    begun = read_run(command, options, folder);
  } else if (std::filesystem::exists(folder.options())) {
    throw Failure("'" + folder.path.string() + "' holds a run already; go on with --resume " + folder.path.string() +
                  ", or give another --out");
  }
  complete(options);
  return run_training(options, folder, mode, is_resumed ? &begun : nullptr, [&](const RunRecord& record) {
    std::error_code error;
    std::filesystem::create_directories(folder.path, error);
    if (error) throw Failure("cannot make the folder '" + folder.path.string() + "': " + error.message());
    write_run(options, folder, record);
  });
}

}  // namespace

void add_train_command(CommandLine& line) {
  const Command command =
      line.add_command("train", "Trains a model, and leaves metrics, charts, weights and a checkpoint");
  const auto arguments = std::make_shared<TrainArguments>();
  TrainOptions& options = arguments->options;
  command.option("--model", options.model, "d2l_lenet, d2l_resnet18, d2l_resnet18_stem7, resnet18, ..., mlp");
  add_data_options(command, options.data, true);
  command.option("--devices", options.devices, "Such as cpu:0,cpu:1, or all");
  command.option("--batch", options.batch, "Samples a step, over all devices together");
  command.option("--lr", options.learning_rate, "Learning rate");
  command.option("--epochs", options.epochs, "Passes over the training samples; may grow on resuming");
  command.option("--out", arguments->out, "Folder for the run's files", "RUN");
  command.option("--resume", arguments->resume, "Goes on with the run in this folder", "RUN");
  command.exclude("--out", "--resume");
  command.option("--momentum", options.momentum, "SGD's momentum");
  command.option("--weight-decay", options.weight_decay, "L2 weight decay, as PyTorch defines it");
  command.flag("--nesterov", options.nesterov, "Nesterov's momentum");
  command.option("--seed", options.seed, "Seed of initial parameters, dropout and the order of samples");
  command.option("--schedule", options.schedule, "Learning rate over time: constant, step or cosine");
  command.option("--schedule-period", options.schedule_period,
                 "Epochs of one step or of the cosine's half wave; 0: all epochs (cosine)", "EPOCHS");
  command.option("--gamma", options.gamma, "Factor of the step schedule");
  command.option("--warmup", options.warmup_steps, "Steps (not epochs) of linear warm-up", "STEPS");
  command.option("--progress", arguments->progress, "auto, bar, plain, json or off");
  command.option("--precision", options.precision, kPrecisionHelp);
  command.option("--eval-devices", options.eval_devices, "Where to evaluate: all, or one of --devices");
  command.option("--bucket-bytes", options.bucket_bytes, "Gradients are all-reduced in buckets of about this size");
  command.option("--threads", options.threads, "CPU threads of all CPU devices together; 0: every core");
  command.footer(
      "The run folder gets metrics.csv, accuracy.svg, loss.svg, weights.safetensors,\n"
      "checkpoint.safetensors and run.json. Ctrl-C saves a checkpoint and exits with 130.");
  command.action([command, arguments] { return train(command, *arguments); });
}

}  // namespace troika::cli
