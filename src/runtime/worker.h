// A thread that belongs to one device as long as its replica lives, and runs one job at a time.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "comm/communicator.h"
#include "device/backend.h"

namespace troika {

class Worker {
 public:
  explicit Worker(std::shared_ptr<Device> device);
  ~Worker() { end(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Ends the thread, after the job in progress. No job may follow.
  void end();

  // Passes a job to the thread. The job is borrowed until wait returns. Nothing is allocated.
  void start(const std::function<void()>& job);
  // Returns when the job has ended; throws what it threw, or COMM at the deadline.
  void wait(Deadline deadline);
  // The same without a deadline, for slow work that waits for nothing except the processor and
  // copies.
  void wait();
  void run(const std::function<void()>& job) {
    start(job);
    wait();
  }

 private:
  void loop();

  std::shared_ptr<Device> device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* job_ = nullptr;
  bool is_ready_ = false, is_running_ = false, is_ending_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace troika
