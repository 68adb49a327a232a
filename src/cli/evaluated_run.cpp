// Finds the weights of a run, and builds their model.
#include "cli/evaluated_run.h"

#include <filesystem>
#include <iostream>
#include <sstream>
#include <utility>

#include "cli/class_names.h"
#include "cli/model_file.h"
#include "cli/run_file.h"
#include "cli/text.h"
#include "cli/weights.h"
#include "core/path.h"

namespace troika::cli {
namespace {

// Returns the weights that the run's evaluation used.
std::string weights_of(const TrainOptions& run, const RunFolder& folder) {
  const bool has_average = run.optimizer.average_decay > 0;
  const std::filesystem::path file = has_average ? folder.average() : folder.weights();
  if (!std::filesystem::exists(file))
    throw Failure("'" + text_of(folder.path) + "' has no " + text_of(file.filename()) +
                  " yet: no epoch of the run has ended");
  return text_of(file);
}

// Returns the options of the run that prepare samples in another way: " --resize 96".
std::string other_preparation(const DataOptions& given, const DataOptions& run) {
  std::ostringstream differences;
  const auto compare = [&](const char* name, const auto& mine, const auto& theirs) {
    if (mine != theirs) differences << " --" << name << " " << theirs;
  };
  compare("resize", given.resize, run.resize);
  compare("mean", given.mean, run.mean);
  compare("std", given.std, run.std);
  return differences.str();
}

}  // namespace

void add_evaluated_options(const Command& command, EvaluatedRun& options) {
  command.optional_argument("run", options.run, "Folder of a run: its weights, model, data and preprocessing are used",
                            "RUN");
  command.option("--weights", options.weights, "The weights, a .safetensors file, or a run's checkpoint", "FILE");
  command.option("--model", options.model, kModelOrFileHelp, "NAME|FILE");
  add_weight_names(command, options.weight_names);
  add_data_options(command, options.data, false);
  command.option("--device,--devices", options.devices, "The device to run on, such as cpu:0");
  command.option("--batch", options.batch, "Samples per batch");
  command.option("--threads", options.threads, "CPU threads of all CPU devices together; 0: every core");
}

void complete_evaluated(const Command& command, EvaluatedRun& options) {
  if (options.run.empty() && std::filesystem::is_directory(path_of(options.weights)))
    options.run = std::exchange(options.weights, "");
  if (options.run.empty()) {
    if (options.model.empty()) options.model = options.weights;  // a file with its layers
    if (options.weights.empty() && is_model_file(options.model)) options.weights = options.model;
    if (options.weights.empty())
      throw Failure(
          "no weights; give the folder of a run, or --weights FILE, with --model NAME if the file has no layers");
    const std::filesystem::path parent = path_of(options.weights).parent_path();
    const RunFolder folder{parent.empty() ? std::filesystem::path(".") : parent};
    if (!std::filesystem::exists(folder.options())) return;
    options.class_names = read_run_record(folder).class_names;
    const std::string differences = other_preparation(options.data, read_run_options(folder).data);
    if (!differences.empty())
      std::cerr << "troika: note: the run of these weights has" << differences
                << "; take the run as it is with: troika " << command.words().front() << " " << text_of(folder.path)
                << "\n";
    return;
  }
  const RunFolder folder{path_of(options.run)};
  TrainOptions run = read_run_options(folder);
  options.class_names = read_run_record(folder).class_names;
  const auto take = [&](const char* name, auto& field, const auto& value) {
    if (!command.was_given(name)) field = value;
  };
  if (!command.was_given("--data") && !command.was_given("--synthetic")) {
    options.data.directory = run.data.directory;
    options.data.synthetic = run.data.synthetic;
    take("--hold-out", options.data.hold_out, run.data.hold_out);
  }
  take("--resize", options.data.resize, run.data.resize);
  take("--mean", options.data.mean, run.data.mean);
  take("--std", options.data.std, run.data.std);
  take("--steps", options.data.steps, run.data.steps);
  take("--limit-test", options.data.limit_test, run.data.limit_test);
  take("--model", options.model, run.model);
  take("--batch", options.batch, run.batch);
  options.precision = run.precision;
  if (options.weights.empty()) options.weights = weights_of(run, folder);
  if (is_model_file(options.model)) options.model = options.weights;  // the file of the run's begin may have gone
}

Model open_evaluated(const Context& context, const EvaluatedRun& options, troika_dataset_info info) {
  check_weights_file(options.weights);
  if (is_model_file(options.model)) {
    Model model = open_model_file(context, options.model, options.data.classes, info);
    if (options.weights != options.model) load_weights(model, options.weights, options.weight_names);
    return model;
  }
  const int64_t labels = info.classes;
  info.classes = options.data.resolved_classes(labels);
  Model model = create_model_for(context, options.model, info);
  const int64_t found = options.data.classes > 0 ? 0 : classes_in_file(model, options.weights, options.weight_names);
  if (found != 0 && found != info.classes) {
    if (found < labels)
      throw Failure(formatted("'%s' has %lld classes, the labels need %lld; give the data that it was trained on",
                              options.weights.c_str(), static_cast<long long>(found), static_cast<long long>(labels)));
    info.classes = found;
    model = create_model_for(context, options.model, info);
  }
  load_weights(model, options.weights, options.weight_names);
  return model;
}

ImageForm input_form(const Context& context, const EvaluatedRun& options) {
  Model model;
  troika_error error;
  if (troika_model_open(context.get(), options.weights.c_str(), model.out(), &error) != TROIKA_OK) return {};
  troika_model_info info = TROIKA_MODEL_INFO_INIT;
  call(troika_model_describe, model.get(), &info);
  return info.input_rank == 3 ? ImageForm{info.input_dims[0], info.input_dims[1], info.input_dims[2]} : ImageForm{};
}

std::vector<std::string> names_of_classes(const EvaluatedRun& options, const Samples& samples) {
  check_class_names(samples.class_names, options.class_names);
  return options.class_names.empty() ? samples.class_names : options.class_names;
}

}  // namespace troika::cli
