// The worker's loop.
#include "runtime/worker.h"

#include <system_error>
#include <utility>

#include "core/address_space.h"
#include "core/named_thread.h"
#include "core/process_state.h"
#include "core/text.h"

namespace troika {

Worker::Worker(std::shared_ptr<Device> device) : device_(std::move(device)) {
  require_address_space(kRoomOfLibraries);
  try {
    thread_ = named_thread(text("troika ", device_->id()), [this] { loop(); });
  } catch (const std::system_error& e) {
    throw Error(Status::out_of_memory,
                text("device ", device_->id(), ": its worker thread could not be started: ", e.what()));
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_ready_; });
}

void Worker::end() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Worker::start(const std::function<void()>& job) {
  {
    std::lock_guard lock(mutex_);
    if (is_running_) throw Error(Status::comm, text("device ", device_->id(), ": its last job has not ended yet"));
    job_ = &job;
    is_running_ = true;
  }
  changed_.notify_all();
}

void Worker::wait(Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_until(lock, deadline, [&] { return !is_running_; }))
    throw Error(Status::comm, text("device ", device_->id(), ": its work did not end before the deadline"));
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Worker::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !is_running_; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Worker::loop() {
  std::exception_ptr unusable;  // the error with which every job then ends
  try {
    device_->enter_thread();
  } catch (...) {
    unusable = std::current_exception();
  }
  std::unique_lock lock(mutex_);
  is_ready_ = true;
  changed_.notify_all();
  while (true) {
    changed_.wait(lock, [&] { return job_ || is_ending_; });
    if (!job_) return;
    const std::function<void()>* job = std::exchange(job_, nullptr);
    lock.unlock();
    std::exception_ptr error = unusable;
    try {
      if (!error) {
        const LibraryUse use;
        (*job)();
      }
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    error_ = error;
    is_running_ = false;
    changed_.notify_all();
  }
}

}  // namespace troika
