// Compares the epochs of a run.
#include "cli/epoch_history.h"

#include "cli/text.h"

namespace troika::cli {

void add_end_options(const Command& command, EndOptions& options) {
  command.option("--target-accuracy", options.target_accuracy,
                 "Ends the run when the test has this accuracy, and reports the time until then, also in "
                 "dawnbench.tsv; 0: no target");
  command.option("--early-stop", options.early_stop,
                 "Ends the run after so many epochs without a better test; 0: after all epochs", "EPOCHS");
}

void check_end(const EndOptions& options) {
  if (!(options.target_accuracy >= 0 && options.target_accuracy <= 1))
    refuse_value("--target-accuracy", options.target_accuracy, "a number from 0 to 1");
  if (options.early_stop < 0) refuse_value("--early-stop", options.early_stop, "at least 1, or 0 for all epochs");
}

const EpochMetrics* best_epoch(const std::vector<EpochMetrics>& rows, bool is_text) {
  const EpochMetrics* best = nullptr;
  for (const EpochMetrics& row : rows) {
    if (!row.is_evaluated()) continue;
    const bool is_better = !best                                      ? true
                           : is_text                                  ? row.test_loss < best->test_loss
                           : row.test_accuracy != best->test_accuracy ? row.test_accuracy > best->test_accuracy
                                                                      : row.test_loss < best->test_loss;
    if (is_better) best = &row;
  }
  return best;
}

double training_seconds(const std::vector<EpochMetrics>& rows, size_t row) {
  double sum = 0;
  for (size_t i = 0; i <= row && i < rows.size(); ++i) sum += rows[i].seconds;
  return sum;
}

std::string reason_to_end(const std::vector<EpochMetrics>& rows, bool is_text, const EndOptions& options) {
  if (rows.empty() || !rows.back().is_evaluated()) return {};
  if (options.target_accuracy > 0 && rows.back().test_accuracy >= options.target_accuracy) {
    const double seconds = training_seconds(rows, rows.size() - 1);
    return formatted("the test accuracy has reached %g", options.target_accuracy) +
           (std::isnan(seconds) ? "" : formatted(" after %.1f s of training", seconds));
  }
  const EpochMetrics* const best = best_epoch(rows, is_text);
  const int64_t since = rows.back().epoch - best->epoch;
  if (options.early_stop > 0 && since >= options.early_stop)
    return formatted("no better test since epoch %lld", static_cast<long long>(best->epoch));
  return {};
}

}  // namespace troika::cli
