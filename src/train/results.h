// Results of a step, of a pass over a dataset, and of a batch of such a pass.
#pragma once

#include <cstdint>

namespace troika {

// Returns the mean of losses with that sum and weight; 0 without weight.
inline double mean_loss(double sum, double weight) { return weight > 0 ? sum / weight : 0; }

struct StepResult {
  double loss = 0;
  int64_t samples = 0, step = 0;
  int64_t labels = 0, correct = 0;  // labels that are not ignored, else samples; and the correct ones
  double weight = 0;                // of these labels: their number, if they have no weights
  double learning_rate = 0, seconds = 0;
  bool is_skipped = false;   // a gradient was not finite, so no parameter has changed
  double loss_scale = 1;     // that the step used
  double gradient_norm = 0;  // before clipping; 0 without
};

struct Metrics {
  double loss = 0;  // mean over labels, by weight
  int64_t samples = 0, labels = 0, correct = 0;
  double seconds = 0;
  int64_t skipped_steps = 0;
};

struct Progress {
  int64_t batch = 0, batches = 0, epoch = 0, samples = 0, labels = 0, correct = 0;
  double loss = 0, seconds = 0;
  bool is_training = false;
  bool is_skipped = false;  // of the batch, as the fields that follow
  double batch_loss = 0;    // mean over its labels, by weight
  int64_t batch_samples = 0, batch_labels = 0, batch_correct = 0;
  double learning_rate = 0;
  double wait_seconds = 0;  // in which the local ranks waited for others: the least of them
};

// How a pass over an epoch ended.
enum class PassEnd {
  end_of_epoch,
  limit,    // the most batches asked for
  stopped,  // by a request or by the callback
};

}  // namespace troika
