// Reads and writes metrics.csv, and draws its charts.
#include "cli/metrics_file.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cli/chart.h"
#include "cli/client.h"
#include "cli/epoch_history.h"
#include "cli/files.h"
#include "cli/text.h"
#include "core/path.h"

namespace troika::cli {
namespace {

constexpr const char* kHeader =
    "epoch,step,loss,train_accuracy,test_loss,test_accuracy,images_per_second,seconds,learning_rate";
constexpr const char* kTime = ",training_seconds";  // follows, except in files of earlier versions
constexpr const char* kPerplexities = ",train_perplexity,test_perplexity";  // may follow

// An empty cell is an unknown figure.
std::string as_cell(double value, int decimals) {
  return std::isnan(value) ? std::string() : formatted("%.*f", decimals, value);
}

// The perplexity of the loss as it is written, so that a resumed run writes the same.
std::string perplexity_cell(double loss) { return as_cell(std::exp(std::round(loss * 1e6) / 1e6), 4); }

// An axis that shows 0.08 to 0.11 makes noise look like progress.
Chart accuracy_chart(const std::vector<std::string>& titles) {
  Chart chart{titles, "", "epoch", "accuracy", {}};
  chart.least_span = 0.2;
  chart.lowest = 0;
  chart.highest = 1;
  return chart;
}

double parse_cell(const std::string& cell) { return cell.empty() ? NAN : std::strtod(cell.c_str(), nullptr); }

}  // namespace

std::vector<EpochMetrics> read_metrics(const std::filesystem::path& path, int64_t epochs) {
  if (!std::filesystem::exists(path)) return {};
  std::vector<EpochMetrics> rows;
  const std::vector<std::string> lines = split(read_file(path), '\n');
  const std::string old = kHeader, now = old + kTime;
  const std::string known[] = {now, now + kPerplexities, old, old + kPerplexities};
  if (std::find(std::begin(known), std::end(known), lines.front()) == std::end(known))
    throw Failure("'" + text_of(path) + "' does not begin with the columns of metrics.csv; move it away to go on");
  const size_t columns = split(lines.front(), ',').size();
  for (size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    const std::vector<std::string> cells = split(lines[i], ',');
    if (cells.size() != columns)
      throw Failure(formatted("'%s' line %zu has %zu columns, need %zu; move the file away to go on",
                              text_of(path).c_str(), i + 1, cells.size(), columns));
    EpochMetrics row;
    row.epoch = std::atoll(cells[0].c_str());
    row.step = std::atoll(cells[1].c_str());
    double* const figures[] = {&row.loss,          &row.train_accuracy,    &row.test_loss,
                               &row.test_accuracy, &row.images_per_second, &row.seconds,
                               &row.learning_rate};
    for (size_t c = 0; c < std::size(figures); ++c) *figures[c] = parse_cell(cells[c + 2]);
    if (row.epoch <= epochs) rows.push_back(row);
  }
  return rows;
}

void write_metrics(const std::filesystem::path& path, const std::vector<EpochMetrics>& rows, bool has_perplexity) {
  std::string out = std::string(kHeader) + kTime + (has_perplexity ? kPerplexities : "") + "\n";
  double seconds = 0;  // of training so far
  for (const EpochMetrics& row : rows) {
    seconds += std::round(row.seconds * 1e3) / 1e3;  // as it is written, so that a resumed run writes the same
    out += formatted("%lld,%lld,", static_cast<long long>(row.epoch), static_cast<long long>(row.step));
    out += as_cell(row.loss, 6) + "," + as_cell(row.train_accuracy, 6) + "," + as_cell(row.test_loss, 6) + "," +
           as_cell(row.test_accuracy, 6) + "," + as_cell(row.images_per_second, 1) + "," + as_cell(row.seconds, 3) +
           "," + formatted("%.9g", row.learning_rate) + "," + as_cell(seconds, 3);
    if (has_perplexity) out += "," + perplexity_cell(row.loss) + "," + perplexity_cell(row.test_loss);
    out += "\n";
  }
  write_file(path, out);
}

void write_dawnbench(const std::filesystem::path& path, const std::vector<EpochMetrics>& rows) {
  std::string out = "epoch\thours\ttop1Accuracy\n";
  double seconds = 0;
  for (const EpochMetrics& row : rows) {
    seconds += row.seconds;
    if (std::isnan(seconds)) break;
    if (row.is_evaluated())
      out +=
          formatted("%lld\t%.6f\t%.2f\n", static_cast<long long>(row.epoch), seconds / 3600, 100 * row.test_accuracy);
  }
  write_file(path, out);
}

void write_charts(const std::filesystem::path& folder, const std::vector<std::string>& titles,
                  const std::vector<EpochMetrics>& rows) {
  Chart accuracy = accuracy_chart(titles), loss{titles, "", "epoch", "loss", {{"train", {}}, {"test", {}}}};
  accuracy.series = {{"train", {}}, {"test", {}}};
  for (const EpochMetrics& row : rows) {
    const auto x = static_cast<double>(row.epoch);
    accuracy.series[0].points.emplace_back(x, row.train_accuracy);
    accuracy.series[1].points.emplace_back(x, row.test_accuracy);
    loss.series[0].points.emplace_back(x, row.loss);
    loss.series[1].points.emplace_back(x, row.test_loss);
  }
  const auto best = [](const char* what, double value, int64_t epoch) {
    return formatted("%s %.4f in epoch %lld", what, value, static_cast<long long>(epoch));
  };
  if (const EpochMetrics* most = best_epoch(rows, false))
    accuracy.note = best("best test accuracy", most->test_accuracy, most->epoch);
  if (const EpochMetrics* least = best_epoch(rows, true))
    loss.note = best("lowest test loss", least->test_loss, least->epoch);
  write_file(folder / "accuracy.svg", render_svg(accuracy));
  write_file(folder / "loss.svg", render_svg(loss));
}

}  // namespace troika::cli
