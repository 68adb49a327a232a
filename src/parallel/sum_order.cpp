// Orders are compared by a simulation of several steps.
#include "parallel/sum_order.h"

#include <algorithm>
#include <numeric>

namespace troika {
namespace {

constexpr int kWarmUp = 4, kSteps = 8;  // of the simulation
constexpr size_t kMostCuts = 24;        // per end of the range of buckets that wait

// The buckets begin..end - 1 wait until all others are on their way.
std::vector<size_t> order_with_last(size_t buckets, size_t begin, size_t end) {
  std::vector<size_t> order(buckets);
  std::iota(order.begin(), order.end(), size_t{0});
  std::rotate(order.begin() + static_cast<std::ptrdiff_t>(begin), order.begin() + static_cast<std::ptrdiff_t>(end),
              order.end());
  std::reverse(order.end() - static_cast<std::ptrdiff_t>(end - begin), order.end());
  return order;
}

std::vector<size_t> sorted_by(const std::vector<BucketTimes>& buckets, double BucketTimes::* time) {
  std::vector<size_t> sorted(buckets.size());
  std::iota(sorted.begin(), sorted.end(), size_t{0});
  std::stable_sort(sorted.begin(), sorted.end(), [&](size_t a, size_t b) { return buckets[a].*time < buckets[b].*time; });
  return sorted;
}

}  // namespace

double late_step_seconds(const StepTimes& times, const std::vector<size_t>& order) {
  const size_t n = times.buckets.size();
  const std::vector<size_t> reads = sorted_by(times.buckets, &BucketTimes::read);
  const std::vector<size_t> makes = sorted_by(times.buckets, &BucketTimes::made);
  std::vector<double> summed(n, 0), made(n, 0);
  double now = 0, network = 0, warm = 0;
  for (int step = 0; step < kWarmUp + kSteps; ++step) {
    if (step == kWarmUp) warm = now;
    double computed = 0;
    const auto compute_until = [&](double moment) {
      now += std::max(moment - computed, 0.0);
      computed = std::max(moment, computed);
    };
    for (size_t b : reads) {
      compute_until(times.buckets[b].read);
      now = std::max(now, summed[b]);
    }
    for (size_t b : makes) {
      compute_until(times.buckets[b].made);
      made[b] = now;
    }
    compute_until(times.computation);
    for (size_t b : order) {
      network = std::max(network, made[b]) + times.buckets[b].sum;
      summed[b] = network;
    }
  }
  return (now - warm) / kSteps;
}

std::vector<size_t> choose_sum_order(const StepTimes& times) {
  const size_t n = times.buckets.size(), stride = std::max<size_t>((n + kMostCuts - 1) / kMostCuts, 1);
  std::vector<size_t> best = order_with_last(n, 0, 0);
  double shortest = late_step_seconds(times, best);
  for (size_t begin = 0; begin < n; begin += stride)
    for (size_t end = begin + 1; end <= n; end += stride) {
      std::vector<size_t> order = order_with_last(n, begin, end);
      const double seconds = late_step_seconds(times, order);
      if (seconds >= shortest) continue;
      shortest = seconds;
      best = std::move(order);
    }
  return best;
}

}  // namespace troika
