// The figures of a run for TensorBoard, and the options --tensorboard and --tensorboard-every.
#pragma once

#include <cstdint>
#include <string>

#include "cli/command_line.h"
#include "cli/epoch_sums.h"
#include "cli/event_file.h"
#include "cli/metrics_file.h"

namespace troika::cli {

struct TensorBoardOptions {
  std::string folder;   // empty: no figures
  int64_t every = 100;  // steps between two points of training; 0: at epoch ends only
};

void add_tensorboard_options(const Command& command, TensorBoardOptions& options);

// Refuses values that no run can have, and makes the folder's path absolute, for run.json.
void complete_tensorboard(TensorBoardOptions& options);

// Writes three groups of tags. Steps are those of the whole run.
// - `train/`: means over the steps since the previous point.
// - `epoch/`: means over the epoch, as in metrics.csv.
// - `eval/`: the evaluation after an epoch.
class TensorBoard {
 public:
  // Creates the file. `sums` are those of the epoch's first `step` steps, whose points an earlier
  // process has written. Throws Failure.
  TensorBoard(const TensorBoardOptions& options, int64_t step, const EpochSums& sums);

  // After each step. The last step of an epoch has a point in any case.
  void train(int64_t step, const EpochSums& sums, double learning_rate, bool is_last);

  // After the evaluation. Throws Failure if an earlier figure could not be written.
  void finish_epoch(const EpochMetrics& row);

  // The last steps of a run that is stopped have a point.
  void stop() { write_train(); }

 private:
  void write_train();

  const int64_t every_;
  EventFile file_;
  EpochSums shown_, sums_;  // shown_: at the previous point
  int64_t step_;
  double learning_rate_ = 0;
};

}  // namespace troika::cli
