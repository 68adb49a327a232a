// Starts the library's threads: with a name, without the host's signals and floating-point
// environment.
#pragma once

#include <pthread.h>

#include <cstdlib>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "core/block_signals.h"
#include "core/float_environment.h"

namespace troika {

// Makes the C library set up the calling thread's memory: it maps 128 MiB for a moment. Another
// thread, which has just found enough address space, might then lack it (core/address_space.h).
inline void set_up_thread_memory() {
  void* volatile first = std::malloc(64);  // volatile: the call must not be optimised away
  std::free(first);
}

// The name is cut to the 15 bytes that the system has room for. Throws std::system_error if there
// are no more threads.
template <typename Body>
std::thread named_thread(const std::string& name, Body body) {
  const BlockSignals blocked;
  const auto is_set_up = std::make_shared<std::latch>(1);  // the thread may use it last
  std::thread thread([name = name.substr(0, 15), body = std::move(body), is_set_up]() mutable {
    set_up_thread_memory();
    is_set_up->count_down();
    pthread_setname_np(pthread_self(), name.c_str());
    const DefaultFloatEnvironment environment;
    body();
  });
  is_set_up->wait();
  return thread;
}

}  // namespace troika
