// Batches of a dataset, one epoch after another, prepared ahead on a thread.
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

// Used by one thread at a time. Batches depend only on dataset, options and position, never on
// `prefetch` or on earlier calls.
class Loader {
 public:
  Loader(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Returns the next batch, valid until the next call, or nullptr once at the epoch's end: then the
  // next epoch begins. Throws what reading the dataset threw; the loader then still stands before
  // that batch.
  const Batch* next();
  // The samples of the batch that next returns next; none at the epoch's end.
  std::optional<BatchOrigin> peek() const;
  // Goes on as next does, but reads nothing. Prepared batches are dropped, and none is prepared
  // until the next call of next.
  void skip();

  // The batch that `next` returns next; batch == batches if it ends the epoch.
  BatchPosition tell() const { return position_; }
  void seek(const BatchPosition& to);
  // Goes to batch 0 of the epoch, at which every evaluation begins.
  void rewind() { seek({position_.epoch, 0, position_.batches}); }

  const std::shared_ptr<const Dataset>& dataset() const { return dataset_; }
  const LoaderOptions& options() const { return options_; }
  int64_t batches() const { return position_.batches; }  // in an epoch

 private:
  BatchOrigin origin_of(const BatchPosition& at) const;
  bool ends_epoch();  // and begins the next epoch
  void fill(Batch& batch, const BatchPosition& at);
  void restart(const BatchPosition& ahead);
  const Batch& take_filled();
  void start_thread();
  void produce();

  std::shared_ptr<const Dataset> dataset_;
  LoaderOptions options_;
  BatchPosition position_;        // the caller's position, not the thread's
  std::vector<Batch> ring_;       // prefetch + 1: the caller's batch, and those ahead of it
  std::vector<int64_t> indices_;  // of the batch being filled; only the filling side uses them

  std::mutex mutex_;  // guards all members below, and the owner of each slot of the ring
  std::condition_variable wanted_, filled_;
  uint64_t handed_count_ = 0;  // batches passed to the caller since the last seek
  uint64_t filled_count_ = 0;  // batches filled since the last seek; batch i is in slot i mod ring size
  uint64_t seeks_ = 0;         // lets the thread notice that the batch being filled is of no use
  BatchPosition ahead_;        // the batch that the thread fills next
  std::exception_ptr error_;   // from filling `ahead_`; the thread waits until the caller has it
  bool is_resting_ = false;    // since a skip
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace troika
