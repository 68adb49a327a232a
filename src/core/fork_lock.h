// Locking what a thread of the parent may have locked when the process was forked.
#pragma once

#include <chrono>
#include <mutex>
#include <thread>

#include "core/error.h"
#include "core/process_state.h"

namespace troika {

// Locks the mutex of an object that was created under that fork_generation(). A forked child may
// find it locked by a thread that does not exist there: UNSUPPORTED, after some time for other
// threads of the child.
template <typename Mutex>
std::unique_lock<Mutex> lock_after_fork(Mutex& mutex, uint32_t generation) {
  if (generation == fork_generation()) return std::unique_lock(mutex);
  constexpr int kMostTries = 1000;
  for (int i = 0; i < kMostTries; ++i) {
    std::unique_lock lock(mutex, std::try_to_lock);
    if (lock) return lock;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  throw Error(Status::unsupported,
              "context: another thread used it when this process was forked; create a new one in the child");
}

}  // namespace troika
