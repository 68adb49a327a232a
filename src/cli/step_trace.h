// The trace of one step of a run, in a file.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "cli/client.h"

namespace troika::cli {

// The tenth step that a process of the run makes: plans are compiled by then, and caches are warm.
// If the epoch ends earlier, its last step.
class StepTrace {
 public:
  // No file: no trace.
  explicit StepTrace(std::string file) : file_(std::move(file)) {}

  // `done`: the steps of the run that earlier processes have made.
  void start(int64_t done) { step_ = done + kStep; }

  // Returns how many of `steps` steps may be made until the trace is saved, after `done` steps.
  int64_t limit(int64_t steps, int64_t done) const {
    return file_.empty() || done >= step_ ? steps : std::min(steps, step_ - done);
  }

  // Saves the trace if the step is done. `status`: of the call that made the last steps.
  void save(const Trainer& trainer, int64_t done, troika_status status) {
    if (file_.empty() || status == TROIKA_STOPPED || (done < step_ && status != TROIKA_END_OF_DATA)) return;
    call(troika_trainer_save_trace, trainer.get(), file_.c_str());
    file_.clear();
  }

 private:
  static constexpr int64_t kStep = 10;

  std::string file_;     // empty: no trace is needed any more
  int64_t step_ = kStep;  // of the run
};

}  // namespace troika::cli
