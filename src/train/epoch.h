// Passes over a loader's epoch: training, evaluation and prediction.
#pragma once

#include <exception>
#include <optional>

#include "core/stopwatch.h"
#include "train/trainer.h"

namespace troika {

// One pass. If devices run ahead, one more step has already started when the callback is called.
class Epoch {
 public:
  Epoch(Trainer& trainer, Loader& loader) : trainer_(trainer), loader_(loader) {}

  // Trains on at most `batches`. If a stop is requested, a step that is under way completes and is
  // counted.
  PassEnd train(int64_t batches, Metrics& metrics);
  // Return false if the pass was stopped.
  bool evaluate(const ActiveRanks& active, Metrics& metrics);
  // Writes to `output`, which has room for `room` samples, and counts them in `samples`.
  bool predict(float* output, int64_t room, int64_t& samples);

 private:
  struct Step {
    StepResult result;
    BatchPosition at;
  };

  void check_has_batches() const;
  void divide(const ActiveRanks& active);
  void end_epoch();
  PassEnd train_batches(int64_t batches);
  BatchView take_batch(Mode mode, const BatchOrigin& coming, const ActiveRanks& active);
  BatchView read_batch(Mode mode, const BatchOrigin& coming, const ActiveRanks& active);
  void train_batch(const BatchOrigin& coming, bool runs_ahead);
  // Calls look(view, progress) for each batch of the epoch.
  template <typename Look>
  bool pass(Mode mode, const ActiveRanks& active, const Look& look);
  void catch_up();
  void look_at(Step step);
  void count(const StepResult& result, double loss_sum);
  Progress progress_at(const BatchPosition& at) const;
  Metrics metrics() const { return {mean_loss(loss_sum_, weight_), samples_, labels_, correct_, stopwatch_.seconds(), skipped_steps_}; }

  Trainer& trainer_;
  Loader& loader_;
  const Stopwatch stopwatch_{};
  double loss_sum_ = 0, weight_ = 0;
  int64_t samples_ = 0, labels_ = 0, correct_ = 0, skipped_steps_ = 0;
  std::optional<Step> ahead_;  // started; its results have not been read yet
  bool goes_on_ = true, tells_ = true;
  bool is_alone_ = true;  // no other process takes part in the pass
};

}  // namespace troika
