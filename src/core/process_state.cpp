// Handlers of fork and exit, which only set these two numbers.
#include "core/process_state.h"

#include <execinfo.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

namespace troika {
namespace {

std::atomic<uint32_t> generation{0};
std::atomic<bool> exiting{false};

}  // namespace

// Handlers of the exit run in the reverse order of their registration, and destructors of globals
// are such handlers. The mark of watch_libraries is set before oneDNN's globals end. The mark of
// watch_process is set before the host's globals end that are older than the context.
void watch_process() {
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(nullptr, nullptr, [] { ++generation; });
    // The C library loads libgcc_s when a thread first ends early. If that fails, the process ends.
    void* frame = nullptr;
    backtrace(&frame, 1);
    std::atexit([] { exiting = true; });
  });
}

void watch_libraries() {
  static std::once_flag once;
  std::call_once(once, [] { std::atexit([] { exiting = true; }); });
}

uint32_t fork_generation() { return generation; }

bool is_exiting() { return exiting; }

}  // namespace troika
