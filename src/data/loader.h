// Batches of a dataset, epoch after epoch, prepared ahead on a thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "data/batch.h"
#include "data/dataset.h"

namespace troika {

constexpr int32_t kMaxPrefetch = 1024;
constexpr int64_t kMaxEpoch = int64_t{1} << 62;

struct LoaderOptions {
  int64_t batch = 0;  // samples, at least 1
  bool shuffle = false;
  bool drop_last = false;
  int32_t prefetch = 2;  // batches prepared ahead; 0: no thread
  uint64_t seed = 0;
};

// One thread at a time. What it gives depends on dataset, options and position alone, never on `prefetch` or the past.
class Loader {
 public:
  Loader(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The next batch, valid until the next call; nullptr once at the epoch's end, after which the next epoch begins.
  // Throws what reading the dataset threw; the loader then still stands before that batch.
  const Batch* next();
  // Which samples the batch has that next gives next; none at the epoch's end.
  std::optional<BatchOrigin> peek() const;
  // Goes on as next does, but reads nothing. What was prepared is dropped, and nothing is prepared until next is called again.
  void skip();

  // The batch that `next` gives next; batch == batches where it ends the epoch.
  BatchPosition tell() const { return position_; }
  void seek(const BatchPosition& to);
  // To batch 0 of the epoch, where every evaluation begins.
  void rewind() { seek({position_.epoch, 0, position_.batches}); }

  const std::shared_ptr<const Dataset>& dataset() const { return dataset_; }
  const LoaderOptions& options() const { return options_; }
  int64_t batches() const { return position_.batches; }  // in an epoch

 private:
  BatchOrigin origin_of(const BatchPosition& at) const;
  bool ends_epoch();  // and begins the next
  void fill(Batch& batch, const BatchPosition& at);
  void restart(const BatchPosition& ahead);
  const Batch& take_filled();
  void start_thread();
  void produce();

  std::shared_ptr<const Dataset> dataset_;
  LoaderOptions options_;
  BatchPosition position_;        // the caller's, not the thread's
  std::vector<Batch> ring_;       // prefetch + 1: the batch handed out and those ahead of it
  std::vector<int64_t> indices_;  // of the batch being filled; the filling side's

  std::mutex mutex_;  // guards all below, and which side a slot of the ring belongs to
  std::condition_variable wanted_, filled_;
  uint64_t handed_count_ = 0;  // batches handed out since the last seek
  uint64_t filled_count_ = 0;  // batches filled since the last seek; batch i lies in slot i mod ring size
  uint64_t seeks_ = 0;         // tells the thread that what it was filling is of no use
  BatchPosition ahead_;        // what the thread fills next
  std::exception_ptr error_;   // what filling `ahead_` threw; the thread waits until it is told
  bool is_resting_ = false;    // since a skip
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace troika
