// Events on the stream, and their times.
#include "backends/cuda/launch_clock.h"

#include <memory>
#include <thread>
#include <utility>

#include "backends/cuda/check.h"

namespace troika::cuda {

GpuLaunchClock::GpuLaunchClock(ContextPtr context, cudaStream_t stream, size_t steps, std::string what)
    : context_(std::move(context)), stream_(stream), what_(std::move(what)) {
  events_.resize(steps);
  for (Around& around : events_) around = {create_timed_event(context_, what_), create_timed_event(context_, what_)};
  timed_.reserve(steps);
}

// The stream calls a function of the host, which sleeps. CUDA may call the functions of several
// replicas one after another. They sleep until a moment, so that all replicas go on together. The
// function owns the moment: a run that fails may leave this clock before the stream is there.
void GpuLaunchClock::hold(std::chrono::nanoseconds time) {
  using Moment = std::chrono::steady_clock::time_point;
  timed_.clear();
  auto held = std::make_unique<Moment>(std::chrono::steady_clock::now() + time);
  const auto sleep = [](void* given) {
    const std::unique_ptr<Moment> owned(static_cast<Moment*>(given));
    std::this_thread::sleep_until(*owned);
  };
  check_launch(cudaLaunchHostFunc(stream_, sleep, held.get()));
  held.release();
}

void GpuLaunchClock::begin(size_t step) { check_launch(cudaEventRecord(events_[step].begin.get(), stream_)); }

void GpuLaunchClock::end(size_t step) {
  check_launch(cudaEventRecord(events_[step].end.get(), stream_));
  timed_.push_back(step);
}

std::vector<LaunchTime> GpuLaunchClock::read(std::chrono::steady_clock::time_point& end) {
  std::vector<LaunchTime> times;
  if (timed_.empty()) return times;
  const auto between = [this](const Event& from, const Event& to) {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, from.get(), to.get()), what_);
    return std::chrono::nanoseconds(static_cast<int64_t>(1e6 * static_cast<double>(milliseconds)));
  };
  check(cudaEventSynchronize(events_[timed_.back()].end.get()), what_);
  end = std::chrono::steady_clock::now();
  const Event& first = events_[timed_.front()].begin;
  for (const size_t step : timed_) {
    const Around& around = events_[step];
    times.push_back({step, between(first, around.begin), between(around.begin, around.end)});
  }
  return times;
}

}  // namespace troika::cuda
