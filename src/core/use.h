// Whether an object is in use: by one call that may change it, by any number of calls that only
// read it, or for a moment by something that is no call of its user.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace troika {

class Use {
 public:
  Use() = default;
  Use(const Use&) {}  // a copy of the object is not in use
  Use& operator=(const Use&) = delete;

  // False: other calls are in progress.
  bool begin_alone() { return begin_as(kAlone); }
  void end_alone() { calls_.store(0, std::memory_order_release); }

  // False: a call that may change the object is in progress.
  bool begin_together() {
    int32_t calls = calls_.load(std::memory_order_relaxed);
    do {
      if (calls == kAlone) return false;
      if (calls == kBriefly) calls = after_brief_use();
    } while (!calls_.compare_exchange_weak(calls, calls + 1, std::memory_order_acquire));
    return true;
  }
  void end_together() { calls_.fetch_sub(1, std::memory_order_release); }

  // A brief use: calls that begin meanwhile wait. False: calls are in progress.
  bool begin_briefly() { return begin_as(kBriefly); }
  void end_briefly() {
    calls_.store(0, std::memory_order_release);
    calls_.notify_all();
  }

 private:
  static constexpr int32_t kAlone = -1, kBriefly = -2;

  bool begin_as(int32_t kind) {
    int32_t none = 0;
    while (!calls_.compare_exchange_strong(none, kind, std::memory_order_acquire)) {
      if (none != kBriefly) return false;
      after_brief_use();
      none = 0;
    }
    return true;
  }
  // Waits for the end of a brief use. Returns 0, which is what the end leaves.
  int32_t after_brief_use() const {
#ifdef _WIN32  // waits of GCC's library on atomics miss wakes there
    while (calls_.load(std::memory_order_relaxed) == kBriefly) std::this_thread::yield();
#else
    calls_.wait(kBriefly, std::memory_order_relaxed);
#endif
    return 0;
  }

  std::atomic<int32_t> calls_{0};
};

}  // namespace troika
