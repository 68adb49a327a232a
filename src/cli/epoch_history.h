// The rows of a run together: its best epoch, its time, and reasons to end it early.
#pragma once

#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/metrics_file.h"

namespace troika::cli {

// The options --target-accuracy and --early-stop.
struct EndOptions {
  double target_accuracy = 0;  // above 0: the run ends when the test has it
  int early_stop = 0;          // above 0: epochs without a better test after which the run ends

  bool is_on() const { return target_accuracy > 0 || early_stop > 0; }
};

void add_end_options(const Command& command, EndOptions& options);
void check_end(const EndOptions& options);

// Returns the epoch with the best test: of images the highest accuracy and, if it is the same, the
// lowest loss; of a text the lowest loss. The first of equal ones. NULL: no epoch has a test.
const EpochMetrics* best_epoch(const std::vector<EpochMetrics>& rows, bool is_text);

// Returns the seconds of training up to the end of a row, without evaluations. NaN: a row lacks
// them.
double training_seconds(const std::vector<EpochMetrics>& rows, size_t row);

// Returns the reason why the run ends with its last row, for people. Empty: there is none.
std::string reason_to_end(const std::vector<EpochMetrics>& rows, bool is_text, const EndOptions& options);

// Calls `visit(name, field)` for each option; names are those of the command line without the
// dashes.
template <typename Visitor>
void visit_end(EndOptions& options, Visitor&& visit) {
  visit("target-accuracy", options.target_accuracy);
  visit("early-stop", options.early_stop);
}

}  // namespace troika::cli
