// Tests of learning-rate schedules: compares rates with PyTorch 2.15's schedulers for base rate
// 0.2, step by step.
#include "train/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace troika {
namespace {

void expect_rates(const Schedule& schedule, const std::vector<double>& expected) {
  for (size_t step = 0; step < expected.size(); ++step)
    EXPECT_NEAR(schedule.at(static_cast<int64_t>(step), 0.2), expected[step], 1e-12) << "step " << step;
}

TEST(Schedule, FallsAtMilestonesAsMultiStepLR) {
  expect_rates({.kind = ScheduleKind::multi_step, .gamma = 0.3, .milestones = {2, 5}},
               {0.2, 0.2, 0.06, 0.06, 0.06, 0.018, 0.018});
}

TEST(Schedule, FallsAsPolynomialLR) {
  expect_rates({.kind = ScheduleKind::polynomial, .period = 5, .power = 2},
               {0.2, 0.12800000000000003, 0.07200000000000001, 0.03200000000000001, 0.007999999999999998, 0, 0});
}

TEST(Schedule, FallsByAFactorPerPeriod) {
  expect_rates({.kind = ScheduleKind::exponential, .period = 2, .gamma = 0.25}, {0.2, 0.1, 0.05, 0.025});
}

TEST(Schedule, RisesAndFallsAsOneCycleLR) {
  expect_rates({.kind = ScheduleKind::one_cycle, .period = 10, .rise = 0.4, .divisor = 20, .final_divisor = 1000},
               {0.010000000000000009, 0.057499999999999996, 0.1525, 0.2, 0.18660321025142498, 0.1500025, 0.100005,
                0.050007500000000024, 0.013406789748575051, 1e-05, 1e-05});
}

TEST(Schedule, TakesTheCallersTableAndStaysAtItsEnd) {
  expect_rates({.kind = ScheduleKind::table, .table = {1, 0.5, 2}}, {0.2, 0.1, 0.4, 0.4});
}

TEST(Schedule, MultipliesEveryKindByTheWarmUp) {
  expect_rates({.kind = ScheduleKind::multi_step, .gamma = 0.5, .warmup_steps = 4, .milestones = {2}},
               {0.05, 0.1, 0.075, 0.1, 0.1});
}

// As torch.optim.lr_scheduler.SequentialLR of a linear rise and CosineAnnealingLR, PolynomialLR or
// ExponentialLR.
TEST(Schedule, BeginsToFallAfterTheWarmUpAndEndsAtTheSameStep) {
  expect_rates({.kind = ScheduleKind::cosine, .period = 6, .warmup_steps = 2},
               {0.1, 0.2, 0.2, 0.1707106781186548, 0.1, 0.02928932188134526, 0, 0});
  expect_rates({.kind = ScheduleKind::polynomial, .period = 6, .warmup_steps = 2, .power = 1},
               {0.1, 0.2, 0.2, 0.15, 0.1, 0.05, 0, 0});
  expect_rates({.kind = ScheduleKind::exponential, .period = 2, .gamma = 0.25, .warmup_steps = 2},
               {0.1, 0.2, 0.2, 0.1, 0.05});
  const Schedule longer{.kind = ScheduleKind::cosine, .period = 2, .warmup_steps = 100000};
  EXPECT_NEAR(longer.at(1, 0.2), 0.2 * 2 / 100000, 1e-12);
  EXPECT_NEAR(longer.at(99999, 0.2), 0.2, 1e-12);
  EXPECT_EQ(longer.at(100000, 0.2), 0) << "the period has passed";
}

TEST(Schedule, FallsDuringTheWarmUpInRunsOfEarlierVersions) {
  expect_rates({.kind = ScheduleKind::polynomial, .period = 4, .warmup_steps = 2, .falls_in_warmup = true},
               {0.1, 0.15, 0.1, 0.05, 0});
}

void expect_plateau(const Schedule& schedule, const std::vector<double>& metrics, const std::vector<double>& rates) {
  Plateau plateau;
  for (size_t i = 0; i < metrics.size(); ++i) {
    EXPECT_NEAR(schedule.at(static_cast<int64_t>(i), 0.2, plateau.reductions), rates[i], 1e-12) << "metric " << i;
    plateau.report(metrics[i], schedule);
  }
}

TEST(Schedule, FallsOnAPlateauAsReduceLROnPlateau) {
  expect_plateau({.kind = ScheduleKind::plateau, .gamma = 0.5, .minimum = 0.03, .patience = 1, .threshold = 0.1},
                 {1, 0.95, 0.92, 0.8, 0.79, 0.78, 0.77, 0.5, 0.6, 0.7},
                 {0.2, 0.2, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05});
  expect_plateau({.kind = ScheduleKind::plateau, .gamma = 0.5, .patience = 0, .threshold = 0.1, .maximizes = true},
                 {1, 1.05, 1.2, 1.0, 1.5}, {0.2, 0.2, 0.1, 0.1, 0.05});
}

TEST(Schedule, StaysAtTheLeastRateOfAPlateau) {
  const Schedule schedule{.kind = ScheduleKind::plateau, .gamma = 0.1, .minimum = 0.01};
  EXPECT_NEAR(schedule.at(0, 0.2, 7), 0.01, 1e-12);
  EXPECT_NEAR(schedule.at(0, 0.005, 7), 0.005, 1e-12) << "a base rate below it is not raised";
}

}  // namespace
}  // namespace troika
