// `troika predict`: the most likely classes of images, as CSV.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <numeric>
#include <vector>

#include "cli/class_names.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/data_source.h"
#include "cli/device_list.h"
#include "cli/evaluated_run.h"
#include "cli/files.h"
#include "cli/own_images.h"
#include "cli/text.h"
#include "core/path.h"

namespace troika::cli {
namespace {

struct PredictArguments {
  EvaluatedRun evaluated;
  std::string split = "test", out;
  int64_t first = 0, count = 0;
  int top = 0;  // 0: 3, or all classes if they are fewer
};

// Softmax in double: the largest output counts as 0, so that no exponential is too large.
std::vector<double> probabilities_of(const float* outputs, int64_t classes) {
  const double largest = *std::max_element(outputs, outputs + classes);
  std::vector<double> values;
  double sum = 0;
  for (int64_t i = 0; i < classes; ++i) {
    values.push_back(std::exp(static_cast<double>(outputs[i]) - largest));
    sum += values.back();
  }
  for (double& value : values) value /= sum;
  return values;
}

std::string csv_header(bool has_files, int top) {
  std::string line = has_files ? "file,row,label" : "row,label";
  for (int i = 1; i <= top; ++i) line += formatted(",class%d,probability%d", i, i);
  return line + "\n";
}

// Returns the cells that a row begins with. `label` may be NULL.
std::string first_cells(const Samples& samples, int64_t row, const int32_t* label,
                        const std::vector<std::string>& names) {
  const auto at = static_cast<size_t>(row);
  std::string name;
  if (label) name = name_of_class(names, *label);
  if (!samples.folders.empty()) name = samples.folders[at];
  return (samples.files.empty() ? "" : csv_cell(samples.files[at]) + ",") + std::to_string(row) + "," + csv_cell(name);
}

std::string class_cells(const std::vector<double>& probabilities, int top, const std::vector<std::string>& names) {
  std::vector<size_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return probabilities[a] > probabilities[b]; });
  std::string line;
  for (size_t i = 0; i < static_cast<size_t>(top); ++i)
    line += "," + csv_cell(name_of_class(names, static_cast<int64_t>(order[i]))) +
            formatted(",%.6f", probabilities[order[i]]);
  return line + "\n";
}

// Opens the images of the run's kind of data, or a user's own.
Samples open_images(const Context& context, const Command& command, PredictArguments& arguments) {
  DataOptions& data = arguments.evaluated.data;
  const Split split = arguments.split == "test" ? Split::test : Split::train;
  const OwnImages own = find_own_images(data, split);
  // Held-out samples are the test, also if there are other images without labels.
  if (own && !(own.has_split && data.hold_out > 0)) {
    const auto refuse = [&](const char* option) {
      throw Failure(std::string(option) + " is for data with training samples, '" + data.directory + "' " + own.what +
                    "; leave it out");
    };
    if (command.was_given("--split") && !own.has_split) refuse("--split");
    if (data.hold_out > 0) refuse("--hold-out");
    if (!command.was_given("--limit-test")) data.limit_test = 0;  // the run's is for its own test
    return open_own_images(context, own, data, input_form(context, arguments.evaluated),
                           arguments.evaluated.class_names);
  }
  Samples samples;
  try {
    samples = open_samples(context, data, split);
  } catch (const Failure& failure) {
    if (!failure.is_not_found()) throw;
    throw failure.with_advice("pictures are read from the folder itself, or from test/CLASS/PICTURE");
  }
  if (samples.is_text()) throw Failure("predict is for images, '" + data.directory + "' is a text");
  return samples;
}

int predict(const Command& command, PredictArguments& arguments) {
  EvaluatedRun& options = arguments.evaluated;
  complete_evaluated(command, options);
  if (options.batch < 1) refuse_value("--batch", options.batch, "at least 1");
  if (arguments.split != "test" && arguments.split != "train")
    refuse_value("--split", arguments.split, "test or train");
  if (arguments.first < 0) refuse_value("--first", arguments.first, "at least 0");
  if (arguments.count < 0) refuse_value("--count", arguments.count, "at least 1, or 0 for all");
  const Context context = create_context(options.threads);
  const std::vector<troika_device> devices = parse_devices(context, "--devices", options.devices);
  if (devices.size() != 1) refuse_value("--devices", options.devices, "one device, such as cpu:0");
  const Samples samples = open_images(context, command, arguments);
  const std::vector<std::string> names = names_of_classes(options, samples);
  const Model model = open_evaluated(context, options, samples.info);
  troika_model_info info = TROIKA_MODEL_INFO_INIT;
  call(troika_model_describe, model.get(), &info);
  const int64_t classes = info.output_dims[0];
  constexpr int64_t kUsualTop = 3;
  if (arguments.top == 0) arguments.top = static_cast<int>(std::min(kUsualTop, classes));
  if (arguments.top < 1 || arguments.top > classes)
    refuse_value("--top", arguments.top, formatted("1 to %lld", static_cast<long long>(classes)));
  if (arguments.first >= samples.info.n)
    refuse_value("--first", arguments.first,
                 formatted("less than %lld, the number of samples", static_cast<long long>(samples.info.n)));

  const int64_t rest = samples.info.n - arguments.first;
  const int64_t end = arguments.first + (arguments.count > 0 ? std::min(arguments.count, rest) : rest);
  std::string text = csv_header(!samples.files.empty(), arguments.top);
  const Loader loader = create_loader(samples, {.batch = options.batch});
  std::vector<float> outputs;
  for (int64_t row = 0; row < end;) {
    troika_batch batch = nullptr;
    call(troika_loader_next, loader.get(), &batch);
    troika_batch_info lent = TROIKA_BATCH_INFO_INIT;
    call(troika_batch_describe, batch, &lent);
    const int64_t next = row + lent.n;
    if (next > arguments.first) {
      outputs.resize(static_cast<size_t>(lent.n * classes));
      call(troika_model_predict_into, model.get(), devices.front(), static_cast<const void*>(lent.inputs), lent.n,
           static_cast<const char*>(nullptr), outputs.data(), static_cast<int64_t>(outputs.size() * sizeof(float)));
      for (int64_t i = std::max<int64_t>(0, arguments.first - row); i < std::min(lent.n, end - row); ++i)
        text += first_cells(samples, row + i, lent.labels ? lent.labels + i : nullptr, names) +
                class_cells(probabilities_of(outputs.data() + i * classes, classes), arguments.top, names);
    }
    row = next;
  }
  if (arguments.out.empty())
    std::cout << text;
  else
    write_file(path_of(arguments.out), text);
  return 0;
}

}  // namespace

void add_predict_command(CommandLine& line) {
  const Command command =
      line.add_command("predict", "Prints the most likely classes of images and their probabilities, as CSV");
  const auto arguments = std::make_shared<PredictArguments>();
  add_evaluated_options(command, arguments->evaluated);
  command.option("--split", arguments->split, "The images to predict: test or train");
  command.option("--top", arguments->top,
                 "Number of classes in each row, the most likely first; 0: 3, or all if they are fewer", "K");
  command.option("--first", arguments->first, "The first row to predict", "ROW");
  command.option("--count", arguments->count, "Number of rows; 0: all that follow", "N");
  command.option("--csv", arguments->out, "The file to write instead of standard output", "FILE");
  command.footer(
      "--data may also be a user's own images, prepared as the run prepared its own: one picture, a\n"
      "folder of pictures, test/CLASS/*.png without train, or IDX images without labels. They have no\n"
      "--split. Pictures have a first column file: the picture, as seen from the folder. Labels and\n"
      "classes are names if the run is of classes with names, else numbers. The label is empty if\n"
      "there is none.");
  command.action([command, arguments] { return predict(command, *arguments); });
}

}  // namespace troika::cli
