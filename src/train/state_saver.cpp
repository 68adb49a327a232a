// The thread of a file.
#include "train/state_saver.h"

#include <system_error>
#include <utility>

#include "core/named_thread.h"
#include "core/process_state.h"

namespace troika {

StateSaver::~StateSaver() {
  if (thread_.joinable()) thread_.join();
}

void StateSaver::start(std::function<void()> write) {
  const auto guarded = [this, write = std::move(write), hold = std::make_shared<const ExitHold>()] {
    try {
      write();
    } catch (...) {
      error_ = std::current_exception();
    }
  };
  try {
    thread_ = named_thread("troika save", guarded);
  } catch (const std::system_error&) {  // there are no more threads: the caller's own writes the file
    guarded();
  }
}

void StateSaver::wait() {
  if (thread_.joinable()) thread_.join();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

}  // namespace troika
