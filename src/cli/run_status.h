// The news of a training process for `troika status`.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "cli/job.h"
#include "cli/rank_status.h"
#include "cli/status_file.h"

namespace troika::cli {

// Writes the status of this process into the run's folder and, if a launcher keeps a folder of
// logs, into that folder too. While the run goes on, it writes at most once per second.
class RunStatus {
 public:
  RunStatus(const std::filesystem::path& run, const Job& job, int64_t step, int64_t steps_per_epoch, int64_t epochs);

  // After a batch of epoch `epoch`, from 1: `step` steps of the run are done.
  void train(int64_t epoch, int64_t step, const troika_progress& batch);
  void test(int64_t epoch);

  // The last news: done, stopped or failed.
  void finish(const char* state, const std::string& message = "");

 private:
  using Clock = std::chrono::steady_clock;

  // Sums since `began`, the end of a step.
  struct Window {
    Clock::time_point began;
    int64_t steps = 0, samples = 0;
    double waited = 0;
  };

  void measure(Clock::time_point now);
  void write(const char* state, Clock::time_point now);

  RankStatus status_;
  StatusFile file_;
  Clock::time_point written_;
  std::optional<Window> window_;  // none while no training goes on
};

}  // namespace troika::cli
