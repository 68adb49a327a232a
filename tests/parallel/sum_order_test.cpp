// Tests of the order of late sums.
#include "parallel/sum_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace troika {
namespace {

// Layers that compute as long as each other, one bucket each, last layer first. The forward pass is
// a third of the computation. `sums` by bucket.
StepTimes even_layers(double computation, const std::vector<double>& sums) {
  StepTimes times;
  times.computation = computation;
  const auto n = static_cast<double>(sums.size());
  for (size_t b = 0; b < sums.size(); ++b) {
    const double place = static_cast<double>(b);
    times.buckets.push_back({computation / 3 * (n - 1 - place) / n, computation / 3 + computation * 2 / 3 * (place + 1) / n,
                             sums[b]});
  }
  return times;
}

std::vector<size_t> in_turn(size_t n) {
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  return order;
}

TEST(LateStepSeconds, IsTheComputationIfTheNetworkTakesNoTime) {
  EXPECT_DOUBLE_EQ(late_step_seconds(even_layers(3, {0, 0, 0}), {0, 1, 2}), 3);
}

TEST(LateStepSeconds, IsTheNetworksTimeWithoutComputation) {
  EXPECT_DOUBLE_EQ(late_step_seconds(even_layers(0, {1, 2, 3}), {0, 1, 2}), 6);
}

// By hand: bucket 0 is read at 1 and made at 2, bucket 1 is read at 0 and made at 3. In turn, the
// network is free at 2 + 2 + 0.5. The other way round, bucket 1 travels from 3 to 3.5, and bucket 0
// until 5.5; the next step needs it at 4.5.
TEST(LateStepSeconds, WaitsForABucketBeforeItsFirstReader) {
  StepTimes times;
  times.computation = 3;
  times.buckets = {{1, 2, 2}, {0, 3, 0.5}};
  EXPECT_DOUBLE_EQ(late_step_seconds(times, {0, 1}), 4.5);   // 2 + 2 + 0.5 of the step before
  EXPECT_DOUBLE_EQ(late_step_seconds(times, {1, 0}), 4.5);   // bucket 0 from 3.5 to 5.5, read at 1.0
}

TEST(ChooseSumOrder, LetsLateLayersWaitIfTheyTakeLong) {
  const StepTimes times = even_layers(3, {0.2, 1.2, 0.6, 0.2, 0.1, 0.1});
  const std::vector<size_t> order = choose_sum_order(times);
  EXPECT_LT(late_step_seconds(times, order), 0.95 * late_step_seconds(times, in_turn(6)));
  EXPECT_LT(late_step_seconds(times, order), 1.15 * 3);
  EXPECT_GT(order.back(), 0u);
}

TEST(ChooseSumOrder, HasEveryBucketOnceAndIsNeverSlower) {
  uint32_t state = 1;
  const auto random = [&] { return static_cast<double>((state = state * 1664525 + 1013904223) >> 8) / (1 << 24); };
  for (size_t n : {0, 1, 2, 5, 40, 200}) {
    std::vector<double> sums(n);
    for (double& sum : sums) sum = random() / static_cast<double>(n);
    const StepTimes times = even_layers(0.1 + random(), sums);
    std::vector<size_t> order = choose_sum_order(times);
    EXPECT_LE(late_step_seconds(times, order), late_step_seconds(times, in_turn(n)));
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, in_turn(n));
  }
}

}  // namespace
}  // namespace troika
