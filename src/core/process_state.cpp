// Handlers of fork and exit.
#include "core/process_state.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "core/error.h"
#include "core/process_hooks.h"

namespace troika {
namespace {

std::atomic<uint32_t> generation{0};
std::atomic<bool> exiting{false};
std::atomic<int> holds{0};
thread_local int own_uses = 0;  // the thread that exits need not wait for itself

void begin_exit() {
  if (exiting.exchange(true)) return;
  constexpr std::chrono::seconds kMost(30);
  const auto end = std::chrono::steady_clock::now() + kMost;
  while (holds > own_uses && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace

// Handlers of the exit run in the reverse order of their registration, and destructors of globals
// are such handlers. That of watch_libraries runs before oneDNN's globals end. That of
// watch_process runs before the host's globals end that are older than the context.
void watch_process() {
  static std::once_flag once;
  std::call_once(once, [] {
    call_in_forked_children([] { ++generation; });
    prepare_ends_of_threads();
    std::atexit(begin_exit);
  });
}

void watch_libraries(LibraryPart part) {
  static std::once_flag once[2];
  std::call_once(once[static_cast<size_t>(part)], [] { std::atexit(begin_exit); });
}

uint32_t fork_generation() { return generation; }

bool is_exiting() { return exiting; }

// Either the thread that exits sees the hold, or the holder sees that the exit has begun.
ExitHold::ExitHold() { ++holds; }
ExitHold::~ExitHold() { --holds; }

void require_no_exit() {
  if (exiting) throw Error(Status::unsupported, "the process is exiting");
}

LibraryUse::LibraryUse() { ++own_uses; }
LibraryUse::~LibraryUse() { --own_uses; }

}  // namespace troika
