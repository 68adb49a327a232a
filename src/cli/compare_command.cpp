// `troika compare`: a table of several runs, and their curves in one picture.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <vector>

#include "cli/chart.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/device_list.h"
#include "cli/epoch_history.h"
#include "cli/files.h"
#include "cli/line_width.h"
#include "cli/model_file.h"
#include "cli/run_file.h"
#include "cli/text.h"
#include "core/path.h"

namespace troika::cli {
namespace {

struct CompareArguments {
  std::vector<std::string> runs;
  std::string metric = "test_accuracy", out = "compare.svg";
};

// A column of metrics.csv that can be drawn.
struct Metric {
  const char *name, *words;
  double EpochMetrics::*value;
  bool is_accuracy;
};
constexpr Metric kMetrics[] = {{"test_accuracy", "test accuracy", &EpochMetrics::test_accuracy, true},
                               {"train_accuracy", "training accuracy", &EpochMetrics::train_accuracy, true},
                               {"test_loss", "test loss", &EpochMetrics::test_loss, false},
                               {"loss", "training loss", &EpochMetrics::loss, false},
                               {"images_per_second", "images/s", &EpochMetrics::images_per_second, false},
                               {"learning_rate", "learning rate", &EpochMetrics::learning_rate, false}};

const Metric& find_metric(const std::string& name) {
  std::string names;
  for (const Metric& metric : kMetrics) {
    if (name == metric.name) return metric;
    names += (names.empty() ? "" : ", ") + std::string(metric.name);
  }
  refuse_value("--metric", name, names);
}

struct ComparedRun {
  std::string name;
  TrainOptions options;
  std::vector<EpochMetrics> rows;
  int processes = 1;

  explicit ComparedRun(const std::string& folder_name) : name(folder_name) {
    const RunFolder folder{path_of(folder_name)};
    options = read_run_options(folder);
    processes = read_run_record(folder).processes;
    rows = read_metrics(folder.metrics(), options.epochs);
    if (rows.empty()) throw Failure("'" + name + "' has no epochs in metrics.csv yet");
  }
  bool is_text() const { return options.data.is_text(); }
  // "d2l_lenet, batch 256, adam, lr 0.001, cpu:0..3 of each of 2 processes as 4x2x1".
  std::string described() const {
    std::string out = formatted("%s, batch %d, %s, lr %g, %s", shown_model(options.model).c_str(), options.batch,
                                options.optimizer.name.c_str(), options.optimizer.learning_rate,
                                short_devices(options.devices).c_str());
    if (processes > 1) out += formatted(" of each of %d processes", processes);
    if (!options.mesh.mesh.empty()) out += " as " + options.mesh.mesh;
    out += options.mesh.shares_text();
    if (options.precision != "f32") out += ", " + options.precision;
    return out;
  }
};

std::string table_cell(double value, int decimals) {
  return std::isnan(value) ? "-" : formatted("%.*f", decimals, value);
}

std::string table_of(const std::vector<ComparedRun>& runs) {
  int width = 3;
  for (const ComparedRun& run : runs) width = std::max(width, width_of(run.name));
  std::string out = formatted("%-*s %7s %9s %9s %6s %10s %8s  %s\n", width, "run", "epochs", "test loss", "test acc.",
                              "best", "in epoch", "seconds", "options");
  for (const ComparedRun& run : runs) {
    const EpochMetrics& last = run.rows.back();
    const EpochMetrics* const best = best_epoch(run.rows, run.is_text());
    out += formatted("%-*s %7zu %9s %9s %6s %10s %8s  %s\n", width, run.name.c_str(), run.rows.size(),
                     table_cell(last.test_loss, 4).c_str(), table_cell(last.test_accuracy, 4).c_str(),
                     best ? table_cell(best->test_accuracy, 4).c_str() : "-",
                     best ? std::to_string(best->epoch).c_str() : "-",
                     table_cell(training_seconds(run.rows, run.rows.size() - 1), 1).c_str(), run.described().c_str());
  }
  return out;
}

int compare(const CompareArguments& arguments) {
  const Metric& metric = find_metric(arguments.metric);
  std::vector<ComparedRun> runs;
  for (const std::string& name : arguments.runs) runs.emplace_back(name);
  Chart chart{{formatted("%s of %zu runs", metric.words, runs.size())}, "", "epoch", metric.words, {}};
  if (metric.is_accuracy) chart.least_span = 0.2, chart.lowest = 0, chart.highest = 1;
  for (const ComparedRun& run : runs) {
    chart.series.push_back({run.name, {}});
    for (const EpochMetrics& row : run.rows)
      chart.series.back().points.emplace_back(static_cast<double>(row.epoch), row.*metric.value);
  }
  write_file(path_of(arguments.out), render_svg(chart));
  std::cout << table_of(runs) << metric.name << " in " << arguments.out << "\n";
  return 0;
}

}  // namespace

void add_compare_command(CommandLine& line) {
  const Command command = line.add_command("compare", "Compares runs: a table, and their curves in one picture");
  const auto arguments = std::make_shared<CompareArguments>();
  command.arguments("runs", arguments->runs, "Folders of runs", "RUN");
  command.option(
      "--metric", arguments->metric,
      "Column of metrics.csv: test_accuracy, train_accuracy, test_loss, loss, images_per_second or learning_rate");
  command.option("--svg", arguments->out, "The file for the picture", "FILE");
  command.action([arguments] { return compare(*arguments); });
}

}  // namespace troika::cli
