// The CPU threads that predictions with several threads share, so that they do not compete for the
// same cores. They get threads in the order in which they ask. A forked child has no budget: there,
// threads that held or wanted a part of it do not exist.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>

#include "core/process_state.h"

namespace troika {

class ThreadBudget {
 public:
  explicit ThreadBudget(int threads) : free_(threads), generation_(fork_generation()) {}

  // Some of the threads, for as long as it lives.
  class Share {
   public:
    // Waits until so many threads are free: at most all of them.
    Share(ThreadBudget& budget, int threads) : budget_(budget), threads_(threads) { budget_.take(threads_); }
    ~Share() { budget_.give_back(threads_); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

   private:
    ThreadBudget& budget_;
    const int threads_;
  };

  size_t waiting() const;  // requests

 private:
  struct Waiter {
    int threads;
    bool has_threads = false;
    std::condition_variable changed = {};
  };

  bool is_forked() const { return generation_ != fork_generation(); }
  void take(int threads);
  void give_back(int threads);

  mutable std::mutex mutex_;
  int free_;
  const uint32_t generation_;
  std::deque<Waiter*> waiters_;
};

}  // namespace troika
