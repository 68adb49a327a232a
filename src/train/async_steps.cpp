// The queue of steps.
#include "train/async_steps.h"

#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/named_thread.h"
#include "core/text.h"

namespace troika {

void AsyncSteps::add(Step step, const Reserve& reserve, std::function<void()> release) {
  std::lock_guard lock(mutex_);
  if (steps_.size() >= kMostWaitingSteps)
    throw Error(Status::busy, text("trainer: ", kMostWaitingSteps, " steps are waiting, need a step that has ended"));
  start_thread();
  if (!release_) reserve();
  try {
    steps_.push_back(std::move(step));
  } catch (...) {
    if (!release_) release();
    throw;
  }
  if (!release_) release_ = std::move(release);
  changed_.notify_all();
}

void AsyncSteps::start_thread() {
  if (thread_.joinable()) return;
  try {
    thread_ = named_thread("troika steps", [self = shared_from_this()] { self->run(); });
  } catch (const std::system_error& e) {
    throw Error(Status::out_of_memory, text("trainer: a thread for steps cannot be started: ", e.what()));
  }
}

void AsyncSteps::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return !steps_.empty() || is_ending_; });
    if (steps_.empty()) return;
    Step step = std::move(steps_.front());
    steps_.pop_front();
    const bool is_stopped = stopped_ > 0;
    if (is_stopped) --stopped_;
    lock.unlock();
    const bool goes_on = step.run(is_stopped);
    lock.lock();
    if (!goes_on && !is_stopped) stopped_ = steps_.size();
    if (steps_.empty()) std::exchange(release_, nullptr)();
    calls_host_ = step.calls_host;
    lock.unlock();
    step.run = nullptr;  // may end the trainer, and so call end()
    step.done();
    step = {};
    lock.lock();
    calls_host_ = false;
  }
}

void AsyncSteps::end() {
  bool may_wait = true;
  {
    std::lock_guard lock(mutex_);
    is_ending_ = true;
    may_wait = !calls_host_;
  }
  changed_.notify_all();
  if (!thread_.joinable()) return;
  if (may_wait && thread_.get_id() != std::this_thread::get_id())
    thread_.join();
  else
    thread_.detach();
}

}  // namespace troika
