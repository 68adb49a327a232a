// Reads the batch at a position: which samples the batch has, and the samples themselves.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/weighted_sampler.h"
#include "data/augmentation.h"
#include "data/batch.h"
#include "data/dataset.h"
#include "data/loader_options.h"

namespace troika {

// Used by one thread at a time, except for functions that any thread may call.
class BatchReader {
 public:
  BatchReader(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options);
  BatchReader(const BatchReader& other, const Division& division);  // reads other rows; any thread

  const std::shared_ptr<const Dataset>& dataset() const { return dataset_; }
  const LoaderOptions& options() const { return options_; }
  // Batches in an epoch; 0 of a stream, which does not know.
  int64_t batches() const { return batches_; }
  // Samples of these batches.
  int64_t samples() const { return options_.drop_last ? batches_ * options_.batch : epoch_samples_; }

  // Returns an empty batch with memory for the largest batch.
  Batch make_batch() const;
  // Refills the batch. A stream that has ended returns an origin with size 0.
  void read(Batch& batch, const BatchPosition& at);
  // Not of a stream. Any thread.
  BatchOrigin origin_of(const BatchPosition& at) const;

 private:
  void measure();
  void choose(const BatchOrigin& origin, Range rows);
  void read_stream(Batch& batch, const BatchPosition& at);
  void keep_rows(Batch& batch, Range rows) const;
  void augment(Batch& batch);
  void resize(Batch& batch, int64_t n) const;

  std::shared_ptr<const Dataset> dataset_;
  LoaderOptions options_;
  std::optional<WeightedSampler> weighted_;
  std::optional<Augmentation> augmentation_;
  int64_t epoch_samples_ = 0;  // 0 of a stream
  int64_t batches_ = 0;
  int64_t largest_ = 0;           // rows of the largest batch
  std::vector<int64_t> indices_;  // of the batch that is read
};

// The batch after that position, if the epoch has `at.batches`.
BatchPosition following(const BatchPosition& at);

}  // namespace troika
