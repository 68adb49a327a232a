// The news of a training run while it goes on: progress for people, figures for TensorBoard, and
// the status of each process.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "cli/epoch_sums.h"
#include "cli/job.h"
#include "cli/metrics_file.h"
#include "cli/progress.h"
#include "cli/run_status.h"
#include "cli/tensorboard.h"

namespace troika::cli {

// Only the process that leads the job shows progress and writes for TensorBoard. Epochs count from
// 1.
class RunReport {
 public:
  // All references must outlive it. `folder`: of the run.
  RunReport(const ProgressOptions& progress, const TensorBoardOptions& tensorboard, const Job& job,
            const std::filesystem::path& folder, int64_t epochs);

  // Begins at a step of the run, with the sums of its epoch so far. Throws Failure if there is no
  // place for the figures.
  void start(const RunSummary& summary, int64_t step, const EpochSums& sums);

  // After a batch of the epoch: the sums so far, and the batch.
  void train(int64_t epoch, const EpochSums& sums, const troika_progress& batch);
  void test(int64_t epoch, const troika_progress& batch);

  // After the evaluation. Throws Failure if an earlier figure could not be written.
  void finish_epoch(const EpochMetrics& row);

  // The last line. `text` is for people; `weights` is the path of the file to use.
  void done(const std::string& text, const std::string& weights);
  void stopped(const std::string& text, const std::string& checkpoint);
  void failed(const std::string& reason);

  double seconds() const;  // since the start; 0 before it
  std::string answer_to_stop() const { return progress_.answer_to_stop(); }

 private:
  // Shows the mean of the steps since the line before, if the step is one of --log-every.
  void log_step(int64_t epoch, const EpochSums& sums, const troika_progress& batch);

  // Returns the time that the run still needs, at its pace so far, evaluations included.
  double eta_seconds() const;

  Progress progress_;
  const TensorBoardOptions& tensorboard_options_;
  std::optional<TensorBoard> tensorboard_;
  const Job& job_;
  const std::filesystem::path& folder_;
  std::optional<RunStatus> status_;
  const int64_t epochs_, line_steps_;
  EpochSums logged_;  // of the epoch at the line before
  int64_t steps_per_epoch_ = 0, first_step_ = 0, step_ = 0;
  std::optional<std::chrono::steady_clock::time_point> began_;
};

}  // namespace troika::cli
