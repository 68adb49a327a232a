// The thread's loop, and its meeting with the caller.
#include "data/prefetcher.h"

#include <chrono>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/named_thread.h"
#include "core/stopped.h"
#include "core/text.h"

namespace troika {
namespace {

constexpr std::chrono::milliseconds kStopInterval(20);

}  // namespace

Prefetcher::Prefetcher(BatchReader reader) : reader_(std::move(reader)) {
  const int32_t prefetch = reader_.options().prefetch;
  ring_.reserve(static_cast<size_t>(prefetch) + 1);
  for (int32_t i = 0; i <= prefetch; ++i) ring_.push_back(reader_.make_batch());
  ahead_.batches = reader_.batches();
}

void Prefetcher::start(const std::shared_ptr<Prefetcher>& prefetcher) {
  const BatchReader& reader = prefetcher->reader_;
  const bool has_batches = reader.batches() > 0 || reader.dataset()->is_stream();
  if (reader.options().prefetch == 0 || !has_batches) return;
  try {
    prefetcher->thread_ = named_thread("troika loader", [prefetcher] { prefetcher->produce(); });
  } catch (const std::system_error& e) {
    throw Error(Status::out_of_memory, text("loader: its prefetch thread cannot be started (", e.what(),
                                            "); set prefetch to 0 to do without"));
  }
}

void Prefetcher::stop() noexcept {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    stops_ = true;
  }
  wanted_.notify_one();
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach();
  else
    thread_.join();
}

void Prefetcher::restart(const BatchPosition& ahead) {
  {
    std::lock_guard lock(mutex_);
    ++seeks_;
    handed_count_ = filled_count_ = 0;
    ahead_ = ahead;
    error_ = nullptr;
    is_error_taken_ = false;
    is_resting_ = false;
  }
  wanted_.notify_one();
}

void Prefetcher::rest() {
  if (is_resting_) return;
  std::lock_guard lock(mutex_);
  is_resting_ = true;
  ++seeks_;
}

// Returns the caller's last batch to the thread, and waits for the next one. The wait has no
// deadline: the thread is the loader's own, and only reads memory or waits for the host.
const Batch& Prefetcher::take(const BatchPosition& at, const std::atomic<bool>* stop) {
  if (!thread_.joinable()) {
    is_resting_ = false;
    reader_.read(ring_[0], at);
    return ring_[0];
  }
  if (thread_.get_id() == std::this_thread::get_id())
    throw Error(Status::busy, "loader: waits for the callback of its dataset, which cannot wait for the loader");
  if (is_resting_) restart(at);
  std::unique_lock lock(mutex_);
  if (is_error_taken_) {  // the batch is tried again
    error_ = nullptr;
    is_error_taken_ = false;
    wanted_.notify_one();
  }
  const auto is_there = [&] { return filled_count_ > handed_count_ || error_; };
  // A stop may be requested by a signal handler, which cannot notify.
  while (!filled_.wait_for(lock, kStopInterval, is_there))
    if (stop && *stop) throw Stopped();
  if (filled_count_ == handed_count_) {
    is_error_taken_ = true;
    const std::exception_ptr error = error_;
    lock.unlock();
    std::rethrow_exception(error);
  }
  const Batch& batch = ring_[handed_count_ % ring_.size()];
  ++handed_count_;
  lock.unlock();
  wanted_.notify_one();
  return batch;
}

void Prefetcher::produce() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto has_room = [&] { return filled_count_ < handed_count_ + ring_.size() - 1; };
    wanted_.wait(lock, [&] { return stops_ || (!is_resting_ && !error_ && has_room()); });
    if (stops_) return;
    Batch& batch = ring_[filled_count_ % ring_.size()];
    const BatchPosition at = ahead_;
    const uint64_t seeks = seeks_;
    lock.unlock();
    std::exception_ptr error;
    try {
      reader_.read(batch, at);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (seeks != seeks_) continue;
    if (error) {
      error_ = std::move(error);
    } else {
      ahead_ = batch.origin->next;
      ++filled_count_;
    }
    filled_.notify_one();
  }
}

}  // namespace troika
