// What a step, a pass over a dataset, and a batch of such a pass tell their caller.
#pragma once

#include <cstdint>

namespace troika {

struct StepResult {
  double loss = 0;
  int64_t samples = 0, correct = 0, step = 0;
  double learning_rate = 0, seconds = 0;
  bool is_skipped = false;   // a gradient was not finite: nothing has changed but the loss scale
  double loss_scale = 1;     // that the step used
  double gradient_norm = 0;  // before clipping; 0 without
};

struct Metrics {
  double loss = 0;  // mean over samples
  int64_t samples = 0, correct = 0;
  double seconds = 0;
};

struct Progress {
  int64_t batch = 0, batches = 0, epoch = 0, samples = 0, correct = 0;
  double loss = 0, seconds = 0;
  bool is_training = false;
  bool is_skipped = false;  // of the batch, as what follows
  double batch_loss = 0;    // mean over its samples
  int64_t batch_samples = 0, batch_correct = 0;
  double learning_rate = 0;
};

// How a pass over an epoch ended.
enum class PassEnd {
  end_of_epoch,
  limit,    // the most batches asked for
  stopped,  // by a request or by the callback
};

}  // namespace troika
