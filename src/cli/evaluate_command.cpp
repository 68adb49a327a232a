// `troika evaluate`: loss and accuracy of a run, of a weights file or of a checkpoint, on the test
// samples.
#include <cmath>
#include <iostream>
#include <memory>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/data_source.h"
#include "cli/device_list.h"
#include "cli/evaluated_run.h"
#include "cli/precision.h"
#include "cli/text.h"
#include "cli/weights.h"

namespace troika::cli {
namespace {

struct EvaluateArguments {
  EvaluatedRun evaluated;
  std::string precision = "f32";
};

int evaluate(const Command& command, EvaluateArguments& arguments) {
  EvaluatedRun& options = arguments.evaluated;
  complete_evaluated(command, options);
  if (options.batch < 1) refuse_value("--batch", options.batch, "at least 1");
  const Context context = create_context(options.threads);
  const std::vector<troika_device> devices = parse_devices(context, "--devices", options.devices);
  const Samples test = open_samples(context, options.data, Split::test);
  const Model model = open_evaluated(context, options, test.info);
  troika_trainer_options trainer_options = TROIKA_TRAINER_OPTIONS_INIT;
  trainer_options.precision =
      parse_precision(command.was_given("--precision") ? arguments.precision : options.precision);
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
      line.add_command("evaluate", "Prints loss and accuracy of a run, or of a weights file, on the test samples");
  const auto arguments = std::make_shared<EvaluateArguments>();
  add_evaluated_options(command, arguments->evaluated);
  command.option("--precision", arguments->precision, kPrecisionHelp);
  command.action([command, arguments] { return evaluate(command, *arguments); });
}

}  // namespace troika::cli
