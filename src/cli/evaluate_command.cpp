// `troika evaluate`: loss and accuracy of a run, of a weights file or of a checkpoint, on the test
// samples.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <vector>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/data_source.h"
#include "cli/device_list.h"
#include "cli/evaluated_run.h"
#include "cli/precision.h"
#include "cli/scores.h"
#include "cli/text.h"
#include "cli/weights.h"

namespace troika::cli {
namespace {

struct EvaluateArguments {
  EvaluatedRun evaluated;
  std::string precision = "f32", scores;
  int top = 0;
};

// The largest number of outputs that count as found, if --top is not given.
constexpr int64_t kUsualTop = 5;

// Completes --top, before anything is computed. Returns the number of classes.
int64_t check_scores(const Model& model, const Samples& test, EvaluateArguments& arguments) {
  troika_model_info info = TROIKA_MODEL_INFO_INIT;
  call(troika_model_describe, model.get(), &info);
  if (test.is_text() || info.output_rank != 1) throw Failure("--scores is for images with one label each");
  const int64_t classes = info.output_dims[0];
  if (arguments.top == 0) arguments.top = static_cast<int>(std::min(kUsualTop, classes));
  if (arguments.top < 1 || arguments.top > classes)
    refuse_value("--top", arguments.top, formatted("1 to %lld", static_cast<long long>(classes)));
  return classes;
}

// Predicts all samples again, and scores the outputs by class.
void score(const Trainer& trainer, const Samples& test, int64_t classes, const std::vector<std::string>& names,
           const EvaluateArguments& arguments) {
  const Loader loader = create_loader(test, {.batch = arguments.evaluated.batch});
  std::vector<float> outputs(static_cast<size_t>(test.info.n * classes));
  call(troika_trainer_predict_loader, trainer.get(), loader.get(), outputs.data(),
       static_cast<int64_t>(outputs.size() * sizeof(float)), static_cast<int64_t*>(nullptr));
  std::vector<int32_t> labels;
  while (std::ssize(labels) < test.info.n) {
    troika_batch batch = nullptr;
    call(troika_loader_next, loader.get(), &batch);
    troika_batch_info lent = TROIKA_BATCH_INFO_INIT;
    call(troika_batch_describe, batch, &lent);
    labels.insert(labels.end(), lent.labels, lent.labels + lent.n);
  }
  ClassifierScores scores = compute_scores(outputs, labels, arguments.top);
  scores.names = names;
  std::cout << describe(scores) << "\n";
  write_scores(scores, arguments.scores);
}

int evaluate(const Command& command, EvaluateArguments& arguments) {
  EvaluatedRun& options = arguments.evaluated;
  complete_evaluated(command, options);
  if (options.batch < 1) refuse_value("--batch", options.batch, "at least 1");
  const Context context = create_context(options.threads);
  const std::vector<troika_device> devices = parse_devices(context, "--devices", options.devices);
  const Samples test = open_samples(context, options.data, Split::test);
  const std::vector<std::string> names = names_of_classes(options, test);
  const Model model = open_evaluated(context, options, test.info);
  const bool has_scores = !arguments.scores.empty();
  const int64_t classes = has_scores ? check_scores(model, test, arguments) : 0;
  troika_trainer_options trainer_options = TROIKA_TRAINER_OPTIONS_INIT;
  trainer_options.precision =
      parse_precision(command.was_given("--precision") ? arguments.precision : options.precision);
  Trainer trainer;
  call(troika_model_attach, model.get(), devices.data(), static_cast<int32_t>(devices.size()), &trainer_options,
       trainer.out());
  const Loader loader = create_loader(test, {.batch = options.batch});
  troika_metrics metrics = TROIKA_METRICS_INIT;
  call(troika_trainer_evaluate, trainer.get(), loader.get(), &metrics);
  const std::string perplexity = test.is_text() ? formatted("  perplexity %.2f", std::exp(metrics.loss)) : "";
  std::cout << formatted("loss %.4f  accuracy %.4f%s  %s samples  %s %s/s\n", metrics.loss, metrics.accuracy,
                         perplexity.c_str(), with_commas(metrics.samples).c_str(),
                         with_commas(std::llround(static_cast<double>(metrics.samples) / metrics.seconds)).c_str(),
                         test.is_text() ? "seq" : "img");
  if (has_scores) score(trainer, test, classes, names, arguments);
  return 0;
}

}  // namespace

void add_evaluate_command(CommandLine& line) {
  const Command command =
      line.add_command("evaluate", "Prints loss and accuracy of a run, or of a weights file, on the test samples");
  const auto arguments = std::make_shared<EvaluateArguments>();
  add_evaluated_options(command, arguments->evaluated);
  command.option("--precision", arguments->precision, kPrecisionHelp);
  command.option("--scores", arguments->scores,
                 "Prints precision, recall, F1, AUC and top accuracy, and writes them by class and the confusion "
                 "matrix to this folder, as CSV and SVG",
                 "FOLDER");
  command.option("--top", arguments->top, "Outputs among which a label counts as found; 0: 5, or all if they are fewer",
                 "K");
  command.need("--top", "--scores");
  command.action([command, arguments] { return evaluate(command, *arguments); });
}

}  // namespace troika::cli
