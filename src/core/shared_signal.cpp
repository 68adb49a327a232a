// The system's waits on memory (futex).
#include "core/shared_signal.h"

#include <algorithm>
#include <climits>
#include <thread>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace troika {

void SharedSignal::sleep(uint32_t seen, Deadline deadline) {
  const auto left = std::max(deadline - Deadline::clock::now(), Deadline::duration(0));
#ifdef __linux__
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  const timespec time{static_cast<time_t>(seconds.count()),
                      static_cast<long>(std::chrono::nanoseconds(left - seconds).count())};
  ++sleepers_;
  syscall(SYS_futex, &changes_, FUTEX_WAIT, seen, &time, nullptr, 0);  // returns at once after a change
  --sleepers_;
#else
  if (changes_ == seen) std::this_thread::sleep_for(std::min<Deadline::duration>(left, std::chrono::microseconds(100)));
#endif
}

void SharedSignal::notify_all() {
  ++changes_;
#ifdef __linux__
  if (sleepers_ > 0) syscall(SYS_futex, &changes_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
#endif
}

}  // namespace troika
