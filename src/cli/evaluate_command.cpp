// `troika evaluate`: loss and accuracy of a weights file, or of a checkpoint, on the test samples.
#include <cmath>
#include <iostream>
#include <memory>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/data_source.h"
#include "cli/device_list.h"
#include "cli/precision.h"
#include "cli/tensor_list.h"
#include "cli/text.h"

namespace troika::cli {
namespace {

struct EvaluateOptions {
  DataOptions data;
  std::string model, weights, devices = "cpu:0", precision = "f32";
  int batch = 256, threads = 0;
};

// Returns the number of outputs in the model's weights file: the first dimension of its last
// parameter. 0 if the file has no such name; loading then reports what does not fit.
int64_t find_classes(const Model& model, const std::string& path) {
  int32_t entries = 0;
  call(troika_model_count_parameters, model.get(), &entries, static_cast<int64_t*>(nullptr));
  troika_parameter_info last = TROIKA_PARAMETER_INFO_INIT;
  call(troika_model_describe_parameter, model.get(), entries - 1, &last);
  for (const ListedTensor& tensor : parse_tensors(inspect_file(path)))
    if ((tensor.name == last.name || tensor.name == std::string("model/") + last.name) && !tensor.dims.empty())
      return tensor.dims[0];
  return 0;
}

// Creates the model with --classes outputs, or as many as its weights file has.
Model create_evaluated(const Context& context, const EvaluateOptions& options, troika_dataset_info info) {
  const int64_t labels = info.classes;
  info.classes = options.data.resolved_classes(labels);
  Model model = create_model_for(context, options.model, info);
  const int64_t found = options.data.classes > 0 ? 0 : find_classes(model, options.weights);
  if (found == 0 || found == info.classes) return model;
  if (found < labels)
    throw Failure(formatted("'%s' has %lld classes, the labels need %lld; give the data that it was trained on",
                            options.weights.c_str(), static_cast<long long>(found), static_cast<long long>(labels)));
  info.classes = found;
  return create_model_for(context, options.model, info);
}

int evaluate(const EvaluateOptions& options) {
  if (options.batch < 1) refuse_value("--batch", options.batch, "at least 1");
  const Context context = create_context(options.threads);
  const std::vector<troika_device> devices = parse_devices(context, "--devices", options.devices);
  const Samples test = open_samples(context, options.data, Split::test);
  const Model model = create_evaluated(context, options, test.info);
  call(troika_model_load, model.get(), options.weights.c_str(), static_cast<const troika_load_options*>(nullptr),
       static_cast<troika_load_report*>(nullptr));
  troika_trainer_options trainer_options = TROIKA_TRAINER_OPTIONS_INIT;
  trainer_options.precision = parse_precision(options.precision);
  Trainer trainer;
  call(troika_model_attach, model.get(), devices.data(), static_cast<int32_t>(devices.size()), &trainer_options,
       trainer.out());
  const Loader loader = create_loader(test, options.batch, false, 0);
  troika_metrics metrics = TROIKA_METRICS_INIT;
  call(troika_trainer_evaluate, trainer.get(), loader.get(), &metrics);
  const std::string perplexity = test.is_text() ? formatted("  perplexity %.2f", std::exp(metrics.loss)) : "";
  std::cout << formatted("loss %.4f  accuracy %.4f%s  %s samples  %s %s/s\n", metrics.loss, metrics.accuracy,
                         perplexity.c_str(), with_commas(metrics.samples).c_str(),
                         with_commas(std::llround(static_cast<double>(metrics.samples) / metrics.seconds)).c_str(),
                         test.is_text() ? "seq" : "img");
  return 0;
}

}  // namespace

void add_evaluate_command(CommandLine& line) {
  const Command command =
      line.add_command("evaluate", "Prints loss and accuracy of a weights file on the test samples");
  auto options = std::make_shared<EvaluateOptions>();
  command.option("--weights", options->weights, "The weights, a .safetensors file, or a run's checkpoint", "FILE");
  command.option("--model", options->model, kModelHelp);
  command.require("--weights");
  command.require("--model");
  add_data_options(command, options->data, false);
  command.option("--device,--devices", options->devices, "Where to run, such as cpu:0");
  command.option("--batch", options->batch, "Samples a batch");
  command.option("--precision", options->precision, kPrecisionHelp);
  command.option("--threads", options->threads, "CPU threads of all CPU devices together; 0: every core");
  command.action([options] { return evaluate(*options); });
}

}  // namespace troika::cli
