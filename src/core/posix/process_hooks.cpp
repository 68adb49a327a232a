// Events by pthread_atfork.
#include "core/process_hooks.h"

#include <execinfo.h>
#include <pthread.h>

namespace troika {

void call_in_forked_children(void (*function)()) { pthread_atfork(nullptr, nullptr, function); }

void prepare_ends_of_threads() {
  // The C library loads libgcc_s, which unwinds the stack.
  void* frame = nullptr;
  backtrace(&frame, 1);
}

}  // namespace troika
