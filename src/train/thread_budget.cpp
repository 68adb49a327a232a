// Taking threads, in turn.
#include "train/thread_budget.h"

namespace troika {

void ThreadBudget::take(int threads) {
  if (is_forked()) return;
  std::unique_lock lock(mutex_);
  if (waiters_.empty() && threads <= free_) {
    free_ -= threads;
    return;
  }
  Waiter own{threads};
  waiters_.push_back(&own);
  own.changed.wait(lock, [&] { return own.has_threads; });
}

size_t ThreadBudget::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiters_.size();
}

void ThreadBudget::give_back(int threads) {
  if (is_forked()) return;
  const std::lock_guard lock(mutex_);
  free_ += threads;
  while (!waiters_.empty() && waiters_.front()->threads <= free_) {
    Waiter& next = *waiters_.front();
    waiters_.pop_front();
    free_ -= next.threads;
    next.has_threads = true;
    next.changed.notify_one();  // under the lock: the waiter's memory ends when it goes on
  }
}

}  // namespace troika
