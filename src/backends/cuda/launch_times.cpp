// Events on the stream, and their times.
#include "backends/cuda/launch_times.h"

#include <thread>
#include <utility>

#include "backends/cuda/check.h"

namespace troika::cuda {

GpuLaunchClock::GpuLaunchClock(ContextPtr context, cudaStream_t stream, size_t launches, std::string what)
    : context_(std::move(context)), stream_(stream), what_(std::move(what)) {
  events_.resize(launches);
  for (Around& around : events_) around = {create_timed_event(context_, what_), create_timed_event(context_, what_)};
  timed_.reserve(launches);
}

// The stream calls a function of the host, which sleeps.
void GpuLaunchClock::hold(std::chrono::nanoseconds time) {
  held_ = time;
  const auto sleep = [](void* given) { std::this_thread::sleep_for(*static_cast<std::chrono::nanoseconds*>(given)); };
  check_launch(cudaLaunchHostFunc(stream_, sleep, &held_));
}

void GpuLaunchClock::begin(size_t launch) { check_launch(cudaEventRecord(events_[launch].begin.get(), stream_)); }

void GpuLaunchClock::end(size_t launch) {
  check_launch(cudaEventRecord(events_[launch].end.get(), stream_));
  timed_.push_back(launch);
}

std::vector<LaunchTime> GpuLaunchClock::read() {
  std::vector<LaunchTime> times;
  if (timed_.empty()) return times;
  const auto between = [this](const Event& from, const Event& to) {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, from.get(), to.get()), what_);
    return std::chrono::nanoseconds(static_cast<int64_t>(1e6 * static_cast<double>(milliseconds)));
  };
  check(cudaEventSynchronize(events_[timed_.back()].end.get()), what_);
  const Event& first = events_[timed_.front()].begin;
  for (const size_t launch : timed_) {
    const Around& around = events_[launch];
    times.push_back({launch, between(first, around.begin), between(around.begin, around.end)});
  }
  timed_.clear();
  return times;
}

}  // namespace troika::cuda
