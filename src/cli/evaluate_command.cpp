// `troika evaluate`: loss and accuracy of a weights file on one device.
#include <cmath>
#include <iostream>
#include <memory>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/data_source.h"
#include "cli/device_list.h"
#include "cli/text.h"

namespace troika::cli {
namespace {

struct EvaluateOptions {
  DataOptions data;
  std::string model, weights, devices = "cpu:0";
  int batch = 256, threads = 0;
};

int evaluate(const EvaluateOptions& options) {
  const Context context = create_context(options.threads);
  const std::vector<troika_device> devices = parse_devices(context, options.devices);
  const Samples test = open_samples(context, options.data, Split::test);
  const Model model = create_model_for(context, options.model, test.info);
  call(troika_model_load, model.get(), options.weights.c_str(), static_cast<const troika_load_options*>(nullptr),
       static_cast<troika_load_report*>(nullptr));
  Trainer trainer;
  call(troika_model_attach, model.get(), devices.data(), static_cast<int32_t>(devices.size()),
       static_cast<const troika_trainer_options*>(nullptr), trainer.out());
  const Loader loader = create_loader(test, options.batch, false, 0);
  troika_metrics metrics = TROIKA_METRICS_INIT;
  call(troika_trainer_evaluate, trainer.get(), loader.get(), &metrics);
  std::cout << formatted("loss %.4f  accuracy %.4f  %s samples  %s img/s\n", metrics.loss, metrics.accuracy,
                         with_commas(metrics.samples).c_str(),
                         with_commas(std::llround(static_cast<double>(metrics.samples) / metrics.seconds)).c_str());
  return 0;
}

}  // namespace

void add_evaluate_command(CommandLine& line) {
  const Command command =
      line.add_command("evaluate", "Prints loss and accuracy of a weights file on the test samples");
  auto options = std::make_shared<EvaluateOptions>();
  command.option("--weights", options->weights, "The weights, a .safetensors file", "FILE");
  command.option("--model", options->model, "The model, such as d2l_lenet");
  command.require("--weights");
  command.require("--model");
  add_data_options(command, options->data, false);
  command.option("--device,--devices", options->devices, "Where to run, such as cpu:0");
  command.option("--batch", options->batch, "Samples a batch");
  command.option("--threads", options->threads, "CPU threads of all CPU devices together; 0: every core");
  command.action([options] { return evaluate(*options); });
}

}  // namespace troika::cli
