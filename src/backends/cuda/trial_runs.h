// Work that has two forms with the same results: the first runs are timed, and the faster form
// stays.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/event.h"

namespace troika::cuda {

class TrialRuns {
 public:
  // `what` begins messages.
  TrialRuns(const ContextPtr& context, cudaStream_t stream, const std::string& what);

  // Calls launch(form), which puts form 0 or 1 on the stream. The trial's runs take the forms in
  // turn. No run waits for the GPU: until the times of all are known, form 0 runs.
  template <typename Launch>
  void run(Launch&& launch) {
    if (!faster_ && next_ == runs_.size()) compare();
    if (faster_ || next_ == runs_.size()) return launch(faster_.value_or(0));
    const Run& run = runs_[next_];
    check_launch(cudaEventRecord(run.begin.get(), stream_));
    launch(next_ % 2);
    check_launch(cudaEventRecord(run.end.get(), stream_));
    ++next_;
  }

  // The faster form; none: the trial has not ended.
  std::optional<size_t> faster() const { return faster_; }
  // The least time of a form, if the trial has ended.
  double milliseconds(size_t form) const { return least_[form]; }

 private:
  struct Run {
    Event begin, end;
  };
  void compare();  // if the last run has ended

  const cudaStream_t stream_;
  std::vector<Run> runs_;
  size_t next_ = 0;
  std::optional<size_t> faster_;
  double least_[2] = {};
};

}  // namespace troika::cuda
