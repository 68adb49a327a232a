// A ring of batches, and the thread that runs ahead of the caller in it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "data/batch_reader.h"

namespace troika {

// One thread calls it at a time. The prefetcher's own thread holds it too: a dataset that the host
// reads may destroy the loader on that thread.
class Prefetcher {
 public:
  // Allocates all memory, so that no later call fails for lack of memory.
  Prefetcher(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options)
      : Prefetcher(BatchReader(std::move(dataset), options)) {}
  explicit Prefetcher(BatchReader reader);
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  // Starts the thread, if the options want one.
  static void start(const std::shared_ptr<Prefetcher>& prefetcher);
  // Ends the thread, and waits for it, except on that thread itself.
  void stop() noexcept;

  const BatchReader& reader() const { return reader_; }
  // Returns the batch at the position that comes next, valid until the next call. Throws what
  // reading the dataset threw; the next call then reads the batch again. Throws Stopped if `stop`
  // is set while the thread reads; the next call goes on waiting for the batch.
  const Batch& take(const BatchPosition& at, const std::atomic<bool>* stop = nullptr);
  // Goes to another position.
  void restart(const BatchPosition& ahead);
  // Drops the prepared batches, and prepares none until the next call of `take` or `restart`.
  void rest();
  bool is_resting() const { return is_resting_; }

 private:
  void produce();

  BatchReader reader_;       // only the side that reads batches calls what is not `const`
  std::vector<Batch> ring_;  // prefetch + 1: the caller's batch, and those ahead of it

  std::mutex mutex_;  // guards all members below, and the owner of each slot of the ring
  std::condition_variable wanted_, filled_;
  uint64_t handed_count_ = 0;  // batches passed to the caller since the last seek
  uint64_t filled_count_ = 0;  // batches filled since the last seek; batch i is in slot i mod ring size
  uint64_t seeks_ = 0;         // lets the thread notice that the batch being filled is of no use
  BatchPosition ahead_;        // the batch that the thread fills next
  std::exception_ptr error_;   // from filling `ahead_`; the thread waits until the caller tries again
  bool is_error_taken_ = false;
  bool is_resting_ = false;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace troika
