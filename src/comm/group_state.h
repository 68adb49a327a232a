// What the ranks of a group that are threads of this process meet at: a lock, a signal, and the group's end by an abort.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>

#include "comm/communicator.h"

namespace troika {

// What a group's ranks share lies under `mutex`; who changes it calls `notify`.
class GroupState {
 public:
  std::mutex mutex;

  void notify() { changed_.notify_all(); }

  // The first reason stays.
  void abort(const std::string& reason);

  // COMM with the reason after an abort. Under the mutex.
  void check_usable(int rank) const;

  // Until `condition`, whose result is told at the deadline. COMM after an abort.
  template <typename Condition>
  bool wait_until(std::unique_lock<std::mutex>& lock, Deadline deadline, int rank, Condition condition) {
    const bool is_true = changed_.wait_until(lock, deadline, [&] { return is_aborted_ || condition(); });
    check_usable(rank);
    return is_true;
  }

  // The same for a messenger: COMM at the deadline too, where `what` says for what it waited.
  template <typename Condition, typename What>
  void await(std::unique_lock<std::mutex>& lock, Deadline deadline, int rank, int size, Condition condition,
             What what) {
    if (!wait_until(lock, deadline, rank, condition)) throw_late(rank, size, what());
  }

 private:
  [[noreturn]] static void throw_late(int rank, int size, const std::string& what);

  std::condition_variable changed_;
  bool is_aborted_ = false;  // under the mutex, as the reason
  std::string abort_reason_;
};

}  // namespace troika
