// The times of a trial's runs.
#include "backends/cuda/trial_runs.h"

#include <algorithm>
#include <limits>

#include "backends/cuda/check.h"

namespace troika::cuda {

constexpr size_t kRuns = 20, kUncounted = 4;  // the first runs of a form load it onto the GPU

TrialRuns::TrialRuns(const ContextPtr& context, cudaStream_t stream, const std::string& what) : stream_(stream) {
  for (size_t i = 0; i < kRuns; ++i)
    runs_.push_back({create_timed_event(context, what), create_timed_event(context, what)});
}

// A delay, such as that of a late host, only adds to a run's time: the least time is the form's
// own.
void TrialRuns::compare() {
  const cudaError_t status = cudaEventQuery(runs_.back().end.get());
  if (status == cudaErrorNotReady) {
    cudaGetLastError();  // which keeps it otherwise, for the next launch to report
    return;
  }
  check_launch(status);
  std::fill(std::begin(least_), std::end(least_), std::numeric_limits<double>::infinity());
  for (size_t i = kUncounted; i < runs_.size(); ++i) {
    float elapsed = 0;
    check_launch(cudaEventElapsedTime(&elapsed, runs_[i].begin.get(), runs_[i].end.get()));
    least_[i % 2] = std::min(least_[i % 2], static_cast<double>(elapsed));
  }
  faster_ = least_[1] < least_[0] ? 1 : 0;
  runs_.clear();
}

}  // namespace troika::cuda
