// Starts the library's threads: with a name, without the host's signals and floating-point
// environment.
#pragma once

#include <pthread.h>

#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "core/block_signals.h"
#include "core/error.h"
#include "core/float_environment.h"
#include "core/text.h"

namespace troika {

// Makes the C library set up the calling thread's memory: it maps 128 MiB for a moment. Another
// thread, which has just found enough address space, might then lack it (core/address_space.h).
// Returns false if there is no memory.
inline bool set_up_thread_memory() {
  void* volatile first = std::malloc(64);  // volatile: the call must not be optimised away
  std::free(first);
  return first != nullptr;
}

// The name is cut to the 15 bytes that the system has room for. Throws std::system_error if there
// are no more threads, or no memory for one.
template <typename Body>
std::thread named_thread(const std::string& name, Body body) {
  // No latch: on Windows, waits of GCC's library on atomics miss wakes.
  struct Start {
    std::mutex mutex;
    std::condition_variable is_decided;
    std::optional<bool> has_memory;
  };
  const BlockSignals blocked;
  const auto start = std::make_shared<Start>();  // the thread may use it last
  std::thread thread([name = name.substr(0, 15), body = std::move(body), start]() mutable {
    const bool runs = set_up_thread_memory();
    {
      const std::lock_guard lock(start->mutex);
      start->has_memory = runs;
    }
    start->is_decided.notify_one();
    if (!runs) return;
    pthread_setname_np(pthread_self(), name.c_str());
    const DefaultFloatEnvironment environment;
    body();
  });
  {
    std::unique_lock lock(start->mutex);
    start->is_decided.wait(lock, [&] { return start->has_memory.has_value(); });
  }
  if (*start->has_memory) return thread;
  thread.join();
  throw std::system_error(std::make_error_code(std::errc::not_enough_memory));
}

// The same for an object that cannot exist without the thread: OUT_OF_MEMORY, beginning with
// `what`.
template <typename Body>
std::thread require_thread(const std::string& name, const std::string& what, Body body) {
  try {
    return named_thread(name, std::move(body));
  } catch (const std::system_error& e) {
    throw Error(Status::out_of_memory, text(what, ": its thread cannot be started: ", e.what()));
  }
}

}  // namespace troika
