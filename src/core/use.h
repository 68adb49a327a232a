// Whether an object is in use: by one call that may change it, or by any number of calls that only
// read it.
#pragma once

#include <atomic>
#include <cstdint>

namespace troika {

class Use {
 public:
  Use() = default;
  Use(const Use&) {}  // a copy of the object is not in use
  Use& operator=(const Use&) = delete;

  // False: other calls are in progress.
  bool begin_alone() {
    int32_t none = 0;
    return calls_.compare_exchange_strong(none, kAlone, std::memory_order_acquire);
  }
  void end_alone() { calls_.store(0, std::memory_order_release); }

  // False: a call that may change the object is in progress.
  bool begin_together() {
    int32_t calls = calls_.load(std::memory_order_relaxed);
    do {
      if (calls == kAlone) return false;
    } while (!calls_.compare_exchange_weak(calls, calls + 1, std::memory_order_acquire));
    return true;
  }
  void end_together() { calls_.fetch_sub(1, std::memory_order_release); }

 private:
  static constexpr int32_t kAlone = -1;
  std::atomic<int32_t> calls_{0};
};

}  // namespace troika
