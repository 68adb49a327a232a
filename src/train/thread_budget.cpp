// Taking threads, in turn.
#include "train/thread_budget.h"

namespace troika {

void ThreadBudget::take(int threads) {
  std::unique_lock lock(mutex_);
  if (waiters_.empty() && threads <= free_) {
    free_ -= threads;
    return;
  }
  Waiter own{threads};
  waiters_.push_back(&own);
  own.changed.wait(lock, [&] { return own.has_threads; });
}

void ThreadBudget::give_back(int threads) {
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
