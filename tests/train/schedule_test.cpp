// Tests of learning-rate schedules against their formulas.
#include <gtest/gtest.h>

#include <cmath>

#include "train/trainer_options.h"

namespace troika {
namespace {

Schedule schedule(ScheduleKind kind, int64_t period, int64_t warmup_steps = 0) {
  Schedule s;
  s.kind = kind;
  s.period = period;
  s.warmup_steps = warmup_steps;
  return s;
}

TEST(Schedule, StaysConstant) {
  for (int64_t step : {0, 1, 1000000}) EXPECT_EQ(Schedule().at(step, 0.1), 0.1);
}

TEST(Schedule, FallsByGammaEveryPeriod) {
  Schedule s = schedule(ScheduleKind::step, 30);
  s.gamma = 0.5;
  const std::pair<int64_t, double> expected[] = {{0, 0.8}, {29, 0.8}, {30, 0.4}, {59, 0.4}, {60, 0.2}, {90, 0.1}};
  for (const auto& [step, rate] : expected) EXPECT_DOUBLE_EQ(s.at(step, 0.8), rate) << step;
}

TEST(Schedule, FollowsACosineDownToTheMinimumAndStaysThere) {
  Schedule s = schedule(ScheduleKind::cosine, 100);
  s.minimum = 0.02;
  EXPECT_DOUBLE_EQ(s.at(0, 0.1), 0.1);
  EXPECT_DOUBLE_EQ(s.at(50, 0.1), 0.06);
  EXPECT_NEAR(s.at(25, 0.1), 0.02 + 0.08 * (1 + std::sqrt(0.5)) / 2, 1e-15);
  EXPECT_DOUBLE_EQ(s.at(100, 0.1), 0.02);
  EXPECT_DOUBLE_EQ(s.at(100000, 0.1), 0.02);
  for (int64_t step = 1; step <= 100; ++step) EXPECT_LT(s.at(step, 0.1), s.at(step - 1, 0.1));
}

TEST(Schedule, WarmsUpInEvenSteps) {
  const Schedule s = schedule(ScheduleKind::constant, 0, 4);
  const double expected[] = {0.25, 0.5, 0.75, 1.0, 1.0};
  for (int64_t step = 0; step < 5; ++step) EXPECT_DOUBLE_EQ(s.at(step, 1.0), expected[step]) << step;
}

TEST(Schedule, WarmsUpOnTopOfTheScheduleItself) {
  const Schedule cosine = schedule(ScheduleKind::cosine, 10), warm = schedule(ScheduleKind::cosine, 10, 5);
  for (int64_t step = 0; step < 20; ++step)
    EXPECT_DOUBLE_EQ(warm.at(step, 0.3), cosine.at(step, 0.3) * std::min(1.0, static_cast<double>(step + 1) / 5))
        << step;
}

}  // namespace
}  // namespace troika
