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
  // Neither function may throw.
  struct Step {
    // Runs the step, and holds all that the step needs. Returns false if the step was stopped; then
    // the steps that wait at that time are only told that they are stopped.
    std::function<bool(bool is_stopped)> run;
    // Called when another call may use the trainer, unless more steps are waiting. `run`, with all
    // that it holds, has ended by then: the trainer perhaps too.
    std::function<void()> done;
    bool calls_host = false;  // `done` may wait for whoever ends the trainer
  };
  // Reserves the trainer for steps, or throws BUSY. Called if no step is waiting or running.
  using Reserve = std::function<void()>;

  // Appends a step. `reserve` is called before the first step, and `release` after the last. Throws
  // BUSY if too many steps are waiting.
  void add(Step step, const Reserve& reserve, std::function<void()> release);
  // Ends the thread, and waits for it, except on that thread and while it calls the host. No step
  // is waiting.
  void end();

 private:
  void start_thread();
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Step> steps_;
  size_t stopped_ = 0;  // the first of them, which are only told
  std::function<void()> release_;  // set while steps are waiting or running
  bool is_ending_ = false, calls_host_ = false;
  std::thread thread_;
};

}  // namespace troika
