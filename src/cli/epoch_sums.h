// Sums over the batches of an epoch.
#pragma once

#include "cli/client.h"

namespace troika::cli {

// Sums over the batches of an epoch that were trained on, up to step `step` of the run.
struct EpochSums {
  double loss = 0, seconds = 0;
  int64_t samples = 0, labels = 0, correct = 0, step = 0;
  bool is_whole = true;  // false: batches that an earlier process trained on are missing

  void add(const troika_progress& batch) {
    loss += batch.batch_loss * static_cast<double>(batch.batch_labels);
    samples += batch.batch_samples;
    labels += batch.batch_labels;
    correct += batch.batch_correct;
  }
  double mean_loss() const { return loss / static_cast<double>(labels); }
  double accuracy() const { return static_cast<double>(correct) / static_cast<double>(labels); }
  double rate() const { return static_cast<double>(samples) / seconds; }
};

}  // namespace troika::cli
