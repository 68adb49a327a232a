// Steps that wait for their turn, and the thread that runs them.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace troika {

constexpr size_t kMostWaitingSteps = 64;

// From any thread.
class AsyncSteps : public std::enable_shared_from_this<AsyncSteps> {
 public:
  // A step holds all that it needs. Neither function may throw. `done` is called when another call
  // may use the trainer, unless more steps are waiting.
  struct Step {
    std::function<void()> run, done;
  };
  // Reserves the trainer for steps, or throws BUSY. Called if no step is waiting or running.
  using Reserve = std::function<void()>;

  // Appends a step. `reserve` is called before the first step, and `release` after the last. Throws
  // BUSY if too many steps are waiting.
  void add(Step step, const Reserve& reserve, std::function<void()> release);
  // Ends the thread. No step is waiting; one may be running if this is called by its own end.
  void end();

 private:
  void start_thread();
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Step> steps_;
  std::function<void()> release_;  // set while steps are waiting or running
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace troika
