// Runs plans on the local ranks: compiles them, feeds each rank its samples, starts all ranks and
// waits for them.
#pragma once

#include <optional>
#include <vector>

#include "core/log.h"
#include "train/batch_view.h"
#include "train/sharded_state.h"
#include "train/sum_orders.h"

namespace troika {

// The numbers that a run is fed, apart from samples.
struct StepNumbers {
  std::vector<float> settings;
  int64_t seed = 0, step = 0;  // of dropout
};

// The form of plans, apart from mode and batch.
struct PlanForm {
  ValueId output = kNoValue;                // a value of the model to predict; kNoValue: its own output
  StepForm step = {};                       // of training
  const std::atomic<bool>* stop = nullptr;  // if it is set meanwhile, compiling ends with Stopped
};

// One piece of a training step. Rows of the whole batch; those of samples of other processes are
// left alone.
struct StepPiece {
  Piece piece = Piece::all;
  double loss_weight = 1;
  bool adds_gradients = false;
  const float* output_gradient = nullptr;
  float* input_gradient = nullptr;
  int64_t input_gradient_elements = 0;  // of a row
  int64_t first_input_gradient = 0;     // the row of the batch that comes first
};

class StepRunner {
 public:
  // All must outlive it.
  StepRunner(const StepLayout& layout, const LocalRanks& ranks, ShardedState& state, const Log& log,
             std::chrono::milliseconds deadline, size_t sample_bytes, int64_t output_elements);

  // Makes the plans for a batch of `n` samples current, and allocates the state. On an error the
  // earlier plans stay. The plans of an update are for no batch: `n` is 0. OUT_OF_MEMORY also if
  // the process's limit leaves libraries too little for the run.
  void prepare(Mode mode, int64_t n, const ActiveRanks& active, const PlanForm& form = {});
  // Runs the prepared plans. If one rank fails, all ranks are ended, and the first error is thrown.
  void run(Mode mode, const ActiveRanks& active, const BatchView& batch, const StepNumbers& numbers,
           Results wants = Results::own, const StepPiece& piece = {});
  // Waits for the results of the last training step, which was run with Results::earlier.
  void collect();

  // Before a backward pass that adds its gradients to those that are there: OUT_OF_MEMORY.
  void prepare_sums();
  void forget_forward() { holds_forward_ = false; }
  // Whether the last call was the run of a forward pass, so that a backward pass can follow.
  bool holds_forward() const { return holds_forward_; }
  // Returns the shape of the part of a sample whose gradient the current plans report: none if no
  // local rank reports one.
  std::optional<Shape> input_gradient_shape() const;

  // Results of the last run, over the whole batch: every rank that ran has them all.
  const RunResults& results() const { return ranks_.at(reporter_).results(); }

 private:
  void compile_plans(Mode mode, int64_t n, const ActiveRanks& active, const PlanForm& form,
                     const Interruption& interruption);
  template <typename Start>
  void run_each(const ActiveRanks& active, Start start);
  RunArguments arguments_of(Mode mode, const ActiveRanks& active, const BatchView& batch, const StepNumbers& numbers,
                            int rank) const;
  float label_weight(const BatchView& batch, const StepPiece& piece) const;
  void add_piece(RunArguments& a, const StepPiece& piece, const BatchView& batch, int rank) const;

  const StepLayout& layout_;
  const LocalRanks& ranks_;
  ShardedState& state_;
  const Log& log_;
  const std::chrono::milliseconds deadline_;
  SumOrders sum_orders_;           // of late updates
  const size_t sample_bytes_;      // of a sample
  const int64_t output_elements_;  // of a sample
  int64_t largest_batch_ = 0;      // that plans were made for
  int reporter_ = 0;               // a rank of the last run
  bool holds_forward_ = false;
};

}  // namespace troika
