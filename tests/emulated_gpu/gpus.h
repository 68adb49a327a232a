// All GPUs of the process: their streams and events under one lock, and the random generator that
// chooses which stream runs next.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>

#include "memory.h"
#include "streams.h"

namespace emulated_gpu {

// How long a waiting thread runs work before it releases the lock to other threads.
constexpr std::chrono::milliseconds kTurn{2};

struct Gpus {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::shared_ptr<CUstream_st>> streams;
  std::set<std::shared_ptr<CUstream_st>> orphans;  // destroyed, with work left
  std::set<std::shared_ptr<CUevent_st>> events;
  std::mt19937_64 lot{std::random_device{}()};
  std::optional<Access> access;  // kept open while consecutive pieces of work are of one GPU
  int accessed = -1;

  static Gpus& get();

  template <typename Owned>
  static std::shared_ptr<Owned> find(const std::set<std::shared_ptr<Owned>>& set, const Owned* wanted) {
    for (const auto& owned : set)
      if (owned.get() == wanted) return owned;
    return nullptr;
  }
  std::shared_ptr<CUstream_st> find(cudaStream_t stream) const { return find(streams, stream); }
  std::shared_ptr<CUevent_st> find(cudaEvent_t event) const { return find(events, event); }

  // Runs the first work of one stream, drawn by lot among the streams whose first work is ready.
  // Returns false if there is no such stream. Called under the lock.
  bool run_one();

  // Runs work until `is_true()`. Releases the lock at times, because another thread may have to
  // enqueue the work that this thread waits for.
  template <typename Condition>
  void run_until(Condition is_true) {
    std::unique_lock lock(mutex);
    auto others_turn = std::chrono::steady_clock::now() + kTurn;
    while (!is_true()) {
      if (run_one() && std::chrono::steady_clock::now() < others_turn) continue;
      leave();
      changed.wait_for(lock, std::chrono::microseconds(50));
      others_turn = std::chrono::steady_clock::now() + kTurn;
    }
    leave();
  }

  // Closes the GPU's memory before the host continues. Does so in one case of eight only, since
  // closing takes a system call per allocation.
  void leave() {
    if (lot() % 8 == 0) access.reset();
  }
};

}  // namespace emulated_gpu
