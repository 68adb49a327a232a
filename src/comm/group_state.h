// The shared state of a group whose ranks are threads of this process: a lock, a signal, and an
// abort.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>

#include "comm/communicator.h"

namespace troika {

// The ranks' shared data are protected by `mutex`. A rank that changes them calls `notify`.
class GroupState {
 public:
  std::mutex mutex;

  void notify() { changed_.notify_all(); }

  // The first reason stays.
  void abort(const std::string& reason) noexcept;

  // COMM with the reason after an abort. Called under the mutex.
  void check_usable(int rank) const;

  // Waits until `condition`. Returns false at the deadline. COMM after an abort.
  template <typename Condition>
  bool wait_until(std::unique_lock<std::mutex>& lock, Deadline deadline, int rank, Condition condition) {
    const bool is_true = changed_.wait_until(lock, deadline, [&] { return is_aborted_ || condition(); });
    check_usable(rank);
    return is_true;
  }

  // The same for a messenger, with COMM at the deadline too. `what` returns the reason for the
  // wait.
  template <typename Condition, typename What>
  void await(std::unique_lock<std::mutex>& lock, Deadline deadline, int rank, int size, Condition condition,
             What what) {
    if (!wait_until(lock, deadline, rank, condition)) throw_late(rank, size, what());
  }

 private:
  [[noreturn]] static void throw_late(int rank, int size, const std::string& what);

  std::condition_variable changed_;
  bool is_aborted_ = false;  // under the mutex, like the reason
  std::string abort_reason_;
};

}  // namespace troika
