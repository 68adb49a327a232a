// A signal in shared memory, on which threads of several processes wait.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/deadline.h"

namespace troika {

// Zeroed memory is a signal. The host of a loop reads `seen()`, then what the loop waits for, and
// then sleeps: a change in between ends the sleep at once.
class SharedSignal {
 public:
  uint32_t seen() const { return changes_.load(); }
  // Sleeps until a change after `seen`, or until the deadline, or shorter.
  void sleep(uint32_t seen, Deadline deadline);
  void notify_all();

 private:
  std::atomic<uint32_t> changes_, sleepers_;
};

}  // namespace troika
