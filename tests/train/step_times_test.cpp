// Tests of the times of a step: from events that are written by hand.
#include "train/step_times.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class StepTimesTest : public ::testing::Test {
 protected:
  // A launch that reads parameters from `offset` on.
  size_t launch(size_t offset) {
    Launch launch;
    launch.inputs = {{Segment::arena, 0, 64}, {Segment::parameters, offset, 8}};
    plan_.launches.push_back(std::move(launch));
    return plan_.launches.size() - 1;
  }

  void event(PlanStep::Kind kind, size_t index, std::chrono::milliseconds time,
             std::chrono::milliseconds arrival = 0ms) {
    events_.push_back({{kind, index}, now_, now_ + time, Clock::time_point(arrival)});
    now_ += time;
  }

  Plan plan_;
  std::vector<TraceEvent> events_;
  Clock::time_point now_{};
};

TEST_F(StepTimesTest, LeaveOutWaitsAndShareTheNetwork) {
  event(PlanStep::launch, launch(64), 10ms);           // bucket 1 at 0
  event(PlanStep::launch, launch(0), 20ms);            // bucket 0 at 10
  event(PlanStep::wait_group_sum, 0, 5ms);             // SyncBatchNorm
  event(PlanStep::launch, launch(0), 30ms);
  event(PlanStep::start_all_reduce, 0, 0ms);           // made at 60 of the computation, started at 65
  event(PlanStep::launch, launch(64), 10ms);
  event(PlanStep::start_all_reduce, 1, 0ms);           // made at 70, started at 75
  event(PlanStep::wait_all_reduce, 0, 40ms, 115ms);    // on the network from 65 to 115
  event(PlanStep::launch, launch(0), 1ms);             // the update
  event(PlanStep::wait_all_reduce, 1, 20ms, 135ms);    // from 115 to 135
  event(PlanStep::launch, launch(64), 1ms);
  const StepTimes times = measure_step(plan_, events_, {{0, 64, {}}, {64, 64, {}}});
  EXPECT_NEAR(times.computation, 0.072, 1e-9);
  ASSERT_EQ(times.buckets.size(), 2u);
  EXPECT_NEAR(times.buckets[0].read, 0.010, 1e-9);
  EXPECT_NEAR(times.buckets[1].read, 0, 1e-9);
  EXPECT_NEAR(times.buckets[0].made, 0.060, 1e-9);
  EXPECT_NEAR(times.buckets[1].made, 0.070, 1e-9);
  EXPECT_NEAR(times.buckets[0].sum, 0.050, 1e-9);
  EXPECT_NEAR(times.buckets[1].sum, 0.020, 1e-9);
}

TEST_F(StepTimesTest, AreThoseOfTheSlowestRank) {
  StepTimes times{1, {{0.1, 0.5, 2}, {0.2, 0.9, 1}}};
  take_longer(times, {0.8, {{0.3, 0.4, 1}, {0.1, 1.0, 3}}});
  take_longer(times, {});
  EXPECT_EQ(times.computation, 1);
  EXPECT_EQ(times.buckets[0].read, 0.3);
  EXPECT_EQ(times.buckets[0].made, 0.5);
  EXPECT_EQ(times.buckets[0].sum, 2);
  EXPECT_EQ(times.buckets[1].read, 0.2);
  EXPECT_EQ(times.buckets[1].made, 1.0);
  EXPECT_EQ(times.buckets[1].sum, 3);
}

}  // namespace
}  // namespace troika
