// Runs plans on the local ranks: compiles them, feeds each rank its samples, starts all ranks and
// waits for them.
#pragma once

#include <vector>

#include "core/log.h"
#include "train/batch_view.h"
#include "train/sharded_state.h"

namespace troika {

// The numbers that a run is fed, apart from samples.
struct StepNumbers {
  std::vector<float> settings;
  int64_t seed = 0, step = 0;  // of dropout
};

class StepRunner {
 public:
  // All must outlive it.
  StepRunner(const StepLayout& layout, const LocalRanks& ranks, ShardedState& state, const Log& log,
             std::chrono::milliseconds deadline, size_t sample_bytes, int64_t output_elements);

  // Makes the plans for a batch of `n` samples current, and allocates the state. On an error the
  // earlier plans stay.
  void prepare(Mode mode, int64_t n, const ActiveRanks& active);
  // Runs the prepared plans. If one rank fails, all ranks are ended, and the first error is thrown.
  void run(Mode mode, const ActiveRanks& active, const BatchView& batch, const StepNumbers& numbers,
           Results wants = Results::own);
  // Waits for the results of the last training step, which was run with Results::earlier.
  void collect();

  // Results of the last run, over the whole batch: every rank that ran has them all.
  const RunResults& results() const { return ranks_.at(reporter_).results(); }

 private:
  template <typename Start>
  void run_each(const ActiveRanks& active, Start start);
  RunArguments arguments_of(Mode mode, const ActiveRanks& active, const BatchView& batch, const StepNumbers& numbers,
                            int rank) const;

  const StepLayout& layout_;
  const LocalRanks& ranks_;
  ShardedState& state_;
  const Log& log_;
  const std::chrono::milliseconds deadline_;
  const size_t sample_bytes_;      // of a sample
  const int64_t output_elements_;  // of a sample
  int64_t largest_batch_ = 0;      // that plans were made for
  int reporter_ = 0;               // a rank of the last run
};

}  // namespace troika
