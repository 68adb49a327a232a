// Tests of the simulator of pipeline schedules: published bubbles and memory, times computed by
// hand, and deadlocks.
#include "parallel/pipeline_simulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/random.h"
#include "core/text.h"
#include "support/throws.h"

namespace troika {
namespace {

using enum PipelineSchedule;

struct Times {
  double forward, backward;
};
constexpr Times kTimes[] = {{1, 1}, {1, 2}, {1, 3}, {2, 1}, {1, 0.125}};

std::vector<StageCost> equal_stages(int stages, Times times, double transfer = 0) {
  return std::vector<StageCost>(stages, {times.forward, times.backward, transfer});
}

PipelineSimulation simulate(PipelineSchedule schedule, int ranks, int micro_batches, int chunks, Times times = {1, 2},
                            double transfer = 0, SendMode sends = SendMode::asynchronous) {
  return simulate_pipeline(make_pipeline_schedule(schedule, ranks, micro_batches, chunks), micro_batches,
                           equal_stages(ranks * chunks, times, transfer), sends);
}

// ---- bubble ----

// Source: Huang et al. 2019, and Narayanan et al. 2021, who define the bubble as (p - 1) / m of the
// time without a bubble.
TEST(SimulatePipeline, FindsThePublishedBubbleOfGPipeAnd1F1B) {
  for (PipelineSchedule schedule : {gpipe, one_f_one_b})
    for (int p = 1; p <= 8; ++p)
      for (int m : {1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 64})
        for (const Times& times : kTimes) {
          const PipelineSimulation result = simulate(schedule, p, m, 1, times);
          EXPECT_NEAR(result.bubble, (p - 1.0) / (m + p - 1), 1e-12) << p << " ranks, " << m << " micro-batches";
          EXPECT_NEAR(result.total, (m + p - 1) * (times.forward + times.backward), 1e-9);
        }
}

// Source: Narayanan et al. 2021, section 2.2: (p - 1) / (v m) of the time without a bubble.
TEST(SimulatePipeline, FindsThePublishedBubbleOfInterleaved) {
  for (int p = 1; p <= 8; ++p)
    for (int groups : {1, 2, 3, 5, 8})
      for (int v = 1; v <= 4; ++v)
        for (const Times& times : kTimes) {
          const int m = groups * p;
          const PipelineSimulation result = simulate(interleaved, p, m, v, times);
          EXPECT_NEAR(result.bubble, (p - 1.0) / (v * m + p - 1), 1e-12)
              << p << " ranks, " << m << " micro-batches, " << v;
          const double ideal = v * m * (times.forward + times.backward);
          EXPECT_NEAR((result.total - ideal) / ideal, (p - 1.0) / (v * m), 1e-12);
        }
}

// ---- peak activations ----

TEST(SimulatePipeline, KeepsEveryMicroBatchWithGPipeAndAsManyAsAreInFlightWith1F1B) {
  for (int p = 1; p <= 8; ++p)
    for (int m : {1, 2, 3, 4, 6, 8, 20}) {
      EXPECT_EQ(simulate(gpipe, p, m, 1).peak_activations, std::vector<int>(p, m));
      std::vector<int> expected;
      for (int rank = 0; rank < p; ++rank) expected.push_back(std::min(m, p - rank));
      EXPECT_EQ(simulate(one_f_one_b, p, m, 1).peak_activations, expected);
    }
}

// The number is that of Megatron-LM's warm-up plus one. On the first rank this is 1 + (p - 1) / (p
// v) times the p v chunks of the whole model: Korthikanti et al. 2022, arXiv 2205.05198.
TEST(SimulatePipeline, KeepsThePublishedNumberOfChunksWhenInterleaved) {
  for (int p = 1; p <= 8; ++p)
    for (int groups : {1, 2, 3, 6})
      for (int v = 2; v <= 4; ++v) {
        const int m = groups * p;
        const PipelineSimulation result = simulate(interleaved, p, m, v);
        for (int rank = 0; rank < p; ++rank)
          EXPECT_EQ(result.peak_activations[rank], std::min(m * v, 2 * (p - rank - 1) + (v - 1) * p + 1));
        if (groups > 1) {
          EXPECT_DOUBLE_EQ(result.peak_activations[0], p * v * (1 + (p - 1.0) / (p * v)));
        }
      }
}

TEST(SimulatePipeline, WeighsActivationsByTheBytesOfTheirStages) {
  const std::vector<StageCost> stages = {{1, 2, 0, 1000}, {1, 2, 0, 200}, {1, 2, 0, 30}, {1, 2, 0, 4}};
  auto bytes = [&](PipelineSchedule schedule, int ranks, int micro_batches) {
    const int chunks = 4 / ranks;
    return simulate_pipeline(make_pipeline_schedule(schedule, ranks, micro_batches, chunks), micro_batches, stages)
        .peak_activation_bytes;
  };
  EXPECT_EQ(bytes(gpipe, 4, 5), (std::vector<size_t>{5000, 1000, 150, 20}));
  EXPECT_EQ(bytes(one_f_one_b, 4, 5), (std::vector<size_t>{4000, 600, 60, 4}));
  // Rank 0: F0@0 F1@0 F0@2 F1@2 B0@2 ...; rank 1: F0@1 F1@1 F0@3 B0@3 F1@3 ...
  EXPECT_EQ(bytes(interleaved, 2, 2), (std::vector<size_t>{2060, 404}));
  // Rank 0: F0@0 F1@0 F0@2 F1@2 F2@0 B0@2 F3@0 ...; rank 1: F0@1 F1@1 F0@3 B0@3 F1@3 B1@3 F2@1 ...
  EXPECT_EQ(bytes(interleaved, 2, 4), (std::vector<size_t>{4030, 600}));
}

// ---- times ----

// Two stages of different costs and two micro-batches, computed by hand. The last stage sends
// nothing, so its transfer time is not read.
const std::vector<StageCost> kUnequal = {{1, 2, 0.5}, {3, 4, 100}};
using Starts = std::vector<std::vector<double>>;

TEST(SimulatePipeline, StartsEachActionWhenItsRankIsFreeAndItsInputIsThere) {
  const PipelineSimulation result = simulate_pipeline(make_pipeline_schedule(gpipe, 2, 2, 1), 2, kUnequal);
  EXPECT_EQ(result.starts, (Starts{{0, 1, 12, 16}, {1.5, 4.5, 7.5, 11.5}}));
  EXPECT_EQ(result.total, 18);
  EXPECT_EQ(result.busy, (std::vector<double>{6, 14}));
  EXPECT_DOUBLE_EQ(result.bubble, 16.0 / 36);
  EXPECT_EQ(result.messages, 4);
  EXPECT_EQ(simulate_pipeline(make_pipeline_schedule(one_f_one_b, 2, 2, 1), 2, kUnequal).starts,
            (Starts{{0, 1, 9, 16}, {1.5, 4.5, 8.5, 11.5}}));
}

TEST(SimulatePipeline, HoldsABlockingSenderUntilItsReceiverHasTakenTheOutput) {
  const PipelineSimulation result =
      simulate_pipeline(make_pipeline_schedule(gpipe, 2, 2, 1), 2, kUnequal, SendMode::blocking);
  EXPECT_EQ(result.starts, (Starts{{0, 1.5, 12.5, 17}, {1.5, 5, 8, 12.5}}));
  EXPECT_EQ(result.total, 19);
  EXPECT_EQ(result.busy, (std::vector<double>{6, 14}));
}

TEST(SimulatePipeline, CountsTwoMessagesAMicroBatchForEveryBorderBetweenStages) {
  for (int p : {2, 3, 8}) {
    EXPECT_EQ(simulate(gpipe, p, 24, 1).messages, 2 * (p - 1) * 24);
    EXPECT_EQ(simulate(one_f_one_b, p, 24, 1).messages, 2 * (p - 1) * 24);
    EXPECT_EQ(simulate(interleaved, p, 24, 3).messages, 2 * (3 * p - 1) * 24);
  }
  EXPECT_EQ(simulate(interleaved, 1, 24, 3).messages, 0);
}

// With 1F1B, p micro-batches are in flight, and each round of p waits for a round trip of 2 (p - 1)
// transfers.
TEST(SimulatePipeline, PaysTransfersOnceAStepWithGPipeAndOnceARoundWith1F1B) {
  const Times times = {1, 2};
  for (int p = 2; p <= 6; ++p)
    for (double transfer : {0.125, 0.5, 1.0}) {
      const double round_trip = 2 * (p - 1) * transfer;
      for (int m : {1, 4, 8 * p})
        EXPECT_NEAR(simulate(gpipe, p, m, 1, times, transfer).total, 3 * (m + p - 1) + round_trip, 1e-9);
      const double one = simulate(one_f_one_b, p, 8 * p, 1, times, transfer).total;
      const double two = simulate(one_f_one_b, p, 9 * p, 1, times, transfer).total;
      EXPECT_NEAR(two - one, 3 * p + round_trip, 1e-9) << p << " ranks, transfer " << transfer;
    }
}

TEST(SimulatePipeline, GivesTheFiguresOfItsPage) {
  struct Row {
    double transfer, gpipe, one_f_one_b, interleaved;
  };
  for (const Row& row : {Row{0, 33, 33, 28.5}, Row{0.1, 33.6, 34.6, 29.9}, Row{0.5, 36, 41, 35.5}}) {
    EXPECT_NEAR(simulate(gpipe, 4, 8, 1, {1, 2}, row.transfer).total, row.gpipe, 1e-9);
    EXPECT_NEAR(simulate(one_f_one_b, 4, 8, 1, {1, 2}, row.transfer).total, row.one_f_one_b, 1e-9);
    EXPECT_NEAR(simulate(interleaved, 4, 8, 2, {0.5, 1}, row.transfer).total, row.interleaved, 1e-9);
  }
  EXPECT_EQ(simulate(interleaved, 4, 8, 2).peak_activations, (std::vector<int>{11, 9, 7, 5}));
  EXPECT_EQ(simulate(interleaved, 4, 8, 2).messages, 112);
}

// ---- random sizes and costs ----

// The random numbers of a case.
class Draws {
 public:
  explicit Draws(uint64_t number) : key_(number) {}
  double real() {
    const auto bits = philox(key_, count_++, 0);
    return to_unit_double(bits[0], bits[1]);
  }
  int below(int bound) { return static_cast<int>(real() * bound); }

 private:
  uint64_t key_, count_ = 0;
};

struct RandomCase {
  PipelineTable table;
  int micro_batches;
  std::vector<StageCost> stages;
};

RandomCase random_case(Draws& draws) {
  const auto schedule = static_cast<PipelineSchedule>(1 + draws.below(3));
  const int ranks = 1 + draws.below(6), chunks = schedule == interleaved ? 1 + draws.below(3) : 1;
  const int micro_batches = schedule == interleaved ? ranks * (1 + draws.below(4)) : 1 + draws.below(20);
  RandomCase result{make_pipeline_schedule(schedule, ranks, micro_batches, chunks), micro_batches, {}};
  for (int s = 0; s < ranks * chunks; ++s) result.stages.push_back({draws.real(), draws.real(), draws.real()});
  return result;
}

// Computes start times by relaxation: raises them until no action starts before its rank's previous
// action or its input has ended. Returns nullopt if this does not converge, because actions wait
// for each other in a cycle.
std::optional<Starts> relaxed_starts(const RandomCase& c) {
  const int ranks = static_cast<int>(c.table.size()), stages = static_cast<int>(c.stages.size());
  Starts starts;
  size_t actions = 0;
  for (const auto& list : c.table) starts.emplace_back(list.size(), 0.0), actions += list.size();
  auto end = [&](int rank, size_t i) {
    const PipelineAction& a = c.table[rank][i];
    return starts[rank][i] +
           (a.phase == PipelineAction::forward ? c.stages[a.stage].forward : c.stages[a.stage].backward);
  };
  for (size_t round = 0; round <= actions; ++round) {
    bool changed = false;
    for (int rank = 0; rank < ranks; ++rank)
      for (size_t i = 0; i < c.table[rank].size(); ++i) {
        double earliest = i > 0 ? end(rank, i - 1) : 0;
        if (const auto input = input_of(c.table[rank][i], stages)) {
          const int source = input->stage % ranks;
          const auto& list = c.table[source];
          const auto at = static_cast<size_t>(std::find(list.begin(), list.end(), *input) - list.begin());
          const double transfer = c.stages[std::min(input->stage, c.table[rank][i].stage)].transfer;
          earliest = std::max(earliest, end(source, at) + (source == rank ? 0 : transfer));
        }
        changed = changed || earliest > starts[rank][i];
        starts[rank][i] = std::max(starts[rank][i], earliest);
      }
    if (!changed) return starts;
  }
  return std::nullopt;
}

TEST(SimulatePipeline, AgreesWithRelaxationOnRandomSizesAndCosts) {
  for (uint64_t number = 0; number < 200; ++number) {
    Draws draws(number);
    const RandomCase c = random_case(draws);
    const PipelineSimulation result = simulate_pipeline(c.table, c.micro_batches, c.stages);
    EXPECT_EQ(result.starts, relaxed_starts(c)) << "case " << number << ":\n" << print_pipeline_schedule(c.table);
    double busy = 0;
    for (double time : result.busy) {
      EXPECT_LE(time, result.total);
      busy += time;
    }
    EXPECT_NEAR(result.bubble, 1 - busy / (result.total * static_cast<double>(c.table.size())), 1e-9);
  }
}

// After swaps of two actions, a table is malformed, has a deadlock, or runs in another order.
TEST(SimulatePipeline, TellsTablesWithSwappedActionsThatRunFromThoseThatDoNot) {
  int malformed = 0, deadlocked = 0, running = 0;
  for (uint64_t number = 0; number < 500; ++number) {
    Draws draws(number);
    RandomCase c = random_case(draws);
    for (int swaps = 0; swaps < 2; ++swaps) {
      auto& actions = c.table[draws.below(static_cast<int>(c.table.size()))];
      const int i = draws.below(static_cast<int>(actions.size()) - 1);
      std::swap(actions[i], actions[i + 1]);
    }
    bool is_malformed = false;  // a backward pass before its forward pass
    for (const auto& actions : c.table)
      for (const PipelineAction& a : actions) {
        const auto forward =
            std::find(actions.begin(), actions.end(), PipelineAction{PipelineAction::forward, a.micro_batch, a.stage});
        is_malformed = is_malformed || forward > std::find(actions.begin(), actions.end(), a);
      }
    const std::optional<Starts> expected = relaxed_starts(c);
    if (is_malformed) {
      ++malformed;
      EXPECT_THROWS(Status::internal, "for which it waits", simulate_pipeline(c.table, c.micro_batches, c.stages));
    } else if (!expected) {
      ++deadlocked;
      EXPECT_THROWS(Status::internal, "deadlock", simulate_pipeline(c.table, c.micro_batches, c.stages));
    } else {
      ++running;
      EXPECT_EQ(simulate_pipeline(c.table, c.micro_batches, c.stages).starts, expected) << "case " << number;
    }
  }
  EXPECT_GT(malformed, 20);
  EXPECT_GT(deadlocked, 20);
  EXPECT_GT(running, 20);
}

// ---- deadlocks ----

// Returns a table of actions, each named by its first letter, micro-batch and stage: {"F0@0",
// "B0@0"}.
PipelineTable table_of(const std::vector<std::vector<const char*>>& ranks) {
  PipelineTable table;
  for (const auto& names : ranks) {
    table.emplace_back();
    for (const char* name : names)
      table.back().push_back(
          {name[0] == 'F' ? PipelineAction::forward : PipelineAction::backward, name[1] - '0', name[3] - '0'});
  }
  return table;
}

TEST(SimulatePipeline, NamesTheRanksThatWaitForEachOther) {
  EXPECT_THROWS(Status::internal,
                "pipeline schedule: deadlock: rank 0 at B0 of stage 0 waits for B0 of stage 1 on rank 1; "
                "rank 1 at F1 of stage 1 waits for F1 of stage 0 on rank 0",
                simulate_pipeline(table_of({{"F0@0", "B0@0", "F1@0", "B1@0"}, {"F0@1", "F1@1", "B0@1", "B1@1"}}), 2,
                                  std::vector<StageCost>(2)));
}

TEST(SimulatePipeline, NamesARankThatWaitsForItself) {
  EXPECT_THROWS(Status::internal, "deadlock: rank 0 at F0 of stage 1 waits for F0 of stage 0 on rank 0",
                simulate_pipeline(table_of({{"F0@1", "F0@0", "B0@1", "B0@0"}}), 1, std::vector<StageCost>(2)));
}

TEST(SimulatePipeline, LeavesOutRanksThatWaitForADeadlockOfOthers) {
  const PipelineTable table =
      table_of({{"F0@0", "F1@0", "B0@0", "B1@0"}, {"F0@1", "B0@1", "F1@1", "B1@1"}, {"F0@2", "F1@2", "B0@2", "B1@2"}});
  try {
    simulate_pipeline(table, 2, std::vector<StageCost>(3));
    FAIL() << "runs through";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(),
                 "pipeline schedule: deadlock: rank 1 at B0 of stage 1 waits for B0 of stage 2 on rank 2; "
                 "rank 2 at F1 of stage 2 waits for F1 of stage 1 on rank 1");
  }
}

TEST(SimulatePipeline, ShowsThat1F1BNeedsSendsThatDoNotBlock) {
  EXPECT_THROWS(Status::internal,
                "deadlock: rank 0 sending from F1 of stage 0 waits for F1 of stage 1 on rank 1; "
                "rank 1 sending from B0 of stage 1 waits for B0 of stage 0 on rank 0",
                simulate(one_f_one_b, 2, 2, 1, {1, 2}, 0, SendMode::blocking));
}

TEST(SimulatePipeline, FindsThatWithBlockingSends1F1BAndInterleavedDeadlockAndGPipeDoesNot) {
  auto blocks = [](PipelineSchedule schedule, int ranks, int micro_batches, int chunks) {
    try {
      simulate(schedule, ranks, micro_batches, chunks, {1, 2}, 0, SendMode::blocking);
      return false;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("deadlock"), std::string::npos) << e.what();
      return true;
    }
  };
  for (int p = 1; p <= 8; ++p)
    for (int m = 1; m <= 24; ++m) {
      const bool is_pipelined = p > 1 && m > 1;
      EXPECT_FALSE(blocks(gpipe, p, m, 1));
      EXPECT_EQ(blocks(one_f_one_b, p, m, 1), is_pipelined) << p << " ranks, " << m << " micro-batches";
      for (int v = 2; m % p == 0 && v <= 4; ++v)
        EXPECT_EQ(blocks(interleaved, p, m, v), is_pipelined) << p << " ranks, " << m << " micro-batches, " << v;
    }
}

// ---- arguments ----

TEST(SimulatePipeline, RefusesCostsThatDoNotFitTheTable) {
  const PipelineTable table = make_pipeline_schedule(gpipe, 2, 4, 1);
  EXPECT_THROWS(Status::invalid_argument, "found 3 stages over 2 ranks, needs as many on each",
                simulate_pipeline(table, 4, std::vector<StageCost>(3)));
  EXPECT_THROWS(Status::invalid_argument, "found 0 stages over 2 ranks", simulate_pipeline(table, 4, {}));
  EXPECT_THROWS(Status::invalid_argument, "found 1 stages over 0 ranks", simulate_pipeline({}, 4, {{}}));
  EXPECT_THROWS(Status::invalid_argument, "stage 1 has a time of -1, needs a finite one of at least 0",
                simulate_pipeline(table, 4, {{1, 1, 0}, {1, -1, 0}}));
  EXPECT_THROWS(Status::invalid_argument, "stage 0 has a time of inf",
                simulate_pipeline(table, 4, {{1, 1, HUGE_VAL}, {}}));
  EXPECT_THROWS(Status::internal, "rank 1 lacks B4 of stage 1", [&] {
    PipelineTable longer = make_pipeline_schedule(gpipe, 2, 5, 1);
    longer[1].pop_back();
    simulate_pipeline(longer, 5, std::vector<StageCost>(2));
  }());
}

TEST(SimulatePipeline, GivesNoBubbleWhereNothingTakesTime) {
  const PipelineSimulation result = simulate(one_f_one_b, 4, 8, 1, {0, 0});
  EXPECT_EQ(result.total, 0);
  EXPECT_EQ(result.bubble, 0);
}

}  // namespace
}  // namespace troika
