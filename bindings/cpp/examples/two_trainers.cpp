// Two trainers in one event loop, which handles a timer every 10 ms meanwhile: two_trainers [STEPS]
//
// A step runs on a thread of the library. Its callback only posts to the loop; all else happens
// there.
#include <troika/troika.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Runs events one after another on the thread that waits for them.
class EventLoop {
 public:
  void post(std::function<void()> event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    changed_.notify_one();
  }

  // Runs the next event. Returns false if there is none before `time`.
  bool run_one_until(Clock::time_point time) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, time, [this] { return !events_.empty(); })) return false;
    const auto event = std::move(events_.front());
    events_.pop_front();
    lock.unlock();
    event();
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> events_;
};

// Trains a model of its own, one step after another.
class Job {
 public:
  Job(EventLoop& loop, const troika::Context& context, troika::Device device, std::int64_t steps)
      : loop_(loop),
        left_(steps),
        loader_(troika::Dataset::create_synthetic(context, {1, 28, 28}, 4096, 10), {.shuffle = true, .batch = 64}),
        trainer_(troika::Model(context, "d2l_lenet").attach({device}, {.learning_rate = 0.05, .momentum = 0.9})) {}

  // The callback of a step uses the job and its loop.
  ~Job() {
    try {
      if (pending_) pending_.wait();
    } catch (const std::exception&) {  // the step's event throws it
    }
  }

  void begin_step() {
    std::optional<troika::Batch> batch = loader_.next();
    if (!batch) batch = loader_.next();  // of the next epoch
    pending_ = trainer_.step_async(*batch, [this](const troika::StepOutcome& outcome) {
      loop_.post([this, outcome] { end_step(outcome.value()); });
    });
  }

  bool is_done() const { return left_ == 0; }
  const troika::StepResult& last() const { return last_; }

 private:
  void end_step(const troika::StepResult& result) {
    last_ = result;
    if (--left_ > 0) begin_step();
  }

  EventLoop& loop_;
  std::int64_t left_;
  troika::StepResult last_;
  troika::Loader loader_;
  troika::Trainer trainer_;
  troika::Pending pending_;
};

int main(int argc, char** argv) try {
  const std::int64_t steps = argc > 1 ? std::atoll(argv[1]) : 200;
  const troika::Context context;
  EventLoop loop;
  Job jobs[] = {{loop, context, "cpu:0", steps}, {loop, context, "cpu:1", steps}};
  for (Job& job : jobs) job.begin_step();

  constexpr milliseconds kPeriod(10);
  Clock::time_point last_tick = Clock::now(), next_tick = last_tick + kPeriod;
  Clock::duration longest{};
  while (!jobs[0].is_done() || !jobs[1].is_done()) {
    if (Clock::now() < next_tick && loop.run_one_until(next_tick)) continue;
    const auto now = Clock::now();  // the timer's event
    longest = std::max(longest, now - last_tick);
    last_tick = now;
    next_tick = now + kPeriod;
  }
  for (const Job& job : jobs)
    std::printf("steps %lld loss %g\n", static_cast<long long>(job.last().step), job.last().loss);
  std::printf("longest time between timer events %.1f ms\n",
              std::chrono::duration<double, std::milli>(longest).count());
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
