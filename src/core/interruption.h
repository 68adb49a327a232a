// Ends long work of the host early: a deadline, or a stop that another thread asks for.
#pragma once

#include <atomic>

#include "core/deadline.h"
#include "core/error.h"
#include "core/process_state.h"
#include "core/stopped.h"
#include "core/text.h"

namespace troika {

class Interruption {
 public:
  Interruption() = default;  // never
  // `stop` may be null, and must outlive this object.
  Interruption(Deadline deadline, const std::atomic<bool>* stop) : deadline_(deadline), stop_(stop) {}

  // To be called between two parts of the work. Throws Stopped, or COMM with the name of the work,
  // or UNSUPPORTED if the process exits.
  void check(const char* work) const {
    if (stop_ && *stop_) throw Stopped();
    require_no_exit();
    if (std::chrono::steady_clock::now() >= deadline_)
      throw Error(Status::comm, text(work, " did not end before the deadline (deadline_ms)"));
  }

 private:
  Deadline deadline_ = Deadline::max();
  const std::atomic<bool>* stop_ = nullptr;
};

}  // namespace troika
