// Times of a step, without its waits.
#include "train/step_times.h"

#include <algorithm>

namespace troika {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

bool reads(const Launch& launch, const BucketRange& bucket) {
  return std::any_of(launch.inputs.begin(), launch.inputs.end(), [&](const Location& input) {
    return input.segment == Segment::parameters && input.offset < bucket.offset + bucket.bytes &&
           bucket.offset < input.offset + input.bytes;
  });
}

}  // namespace

StepTimes measure_step(const Plan& plan, const std::vector<TraceEvent>& events, const std::vector<BucketRange>& buckets) {
  StepTimes times;
  times.buckets.resize(buckets.size());
  if (events.empty()) return times;
  const Clock::time_point begin = events.front().begin;
  std::vector<char> is_read(buckets.size(), 0);
  std::vector<Clock::time_point> started(buckets.size(), begin), summed(buckets.size(), begin);
  std::vector<size_t> order;  // of the sums
  Clock::duration waited{0};
  for (const TraceEvent& event : events) {
    const size_t index = event.step.index;
    const double computed = seconds(event.begin - begin - waited);
    switch (event.step.kind) {
      case PlanStep::launch:
        for (size_t b = 0; b < buckets.size() && order.empty(); ++b) {
          if (is_read[b] || !reads(plan.launches[index], buckets[b])) continue;
          is_read[b] = 1;
          times.buckets[b].read = computed;
        }
        break;
      case PlanStep::start_all_reduce:
        times.buckets[index].made = computed;
        started[index] = event.begin;
        order.push_back(index);
        break;
      case PlanStep::wait_all_reduce: summed[index] = event.arrival; [[fallthrough]];
      case PlanStep::wait_group_sum: waited += event.end - event.begin; break;
      default: break;
    }
  }
  times.computation = seconds(events.back().end - begin - waited);
  Clock::time_point free = begin;  // when the network has ended the sums so far
  for (size_t b : order) {
    times.buckets[b].sum = std::max(seconds(summed[b] - std::max(started[b], free)), 0.0);
    free = std::max(free, summed[b]);
  }
  return times;
}

void take_longer(StepTimes& times, const StepTimes& other) {
  times.computation = std::max(times.computation, other.computation);
  times.buckets.resize(std::max(times.buckets.size(), other.buckets.size()));
  for (size_t b = 0; b < other.buckets.size(); ++b) {
    BucketTimes& bucket = times.buckets[b];
    bucket.read = std::max(bucket.read, other.buckets[b].read);
    bucket.made = std::max(bucket.made, other.buckets[b].made);
    bucket.sum = std::max(bucket.sum, other.buckets[b].sum);
  }
}

}  // namespace troika
