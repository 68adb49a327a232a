// Tests of pipeline schedules: the published tables, the rules that all of them keep, and what the verifier tells.
#include "parallel/pipeline_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <functional>

#include "core/text.h"
#include "support/throws.h"

namespace troika {
namespace {

constexpr auto kForward = PipelineAction::forward, kBackward = PipelineAction::backward;

struct Case {
  PipelineSchedule schedule;
  int ranks, micro_batches, chunks;
  int stages() const { return ranks * chunks; }
  PipelineTable table() const { return make_pipeline_schedule(schedule, ranks, micro_batches, chunks); }
};

// Every schedule over 1 to 8 ranks, with fewer micro-batches than ranks, as many, and more.
std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (int ranks = 1; ranks <= 8; ++ranks)
    for (int micro_batches = 1; micro_batches <= 24; ++micro_batches) {
      cases.push_back({PipelineSchedule::gpipe, ranks, micro_batches, 1});
      cases.push_back({PipelineSchedule::one_f_one_b, ranks, micro_batches, 1});
      for (int chunks = 1; micro_batches % ranks == 0 && chunks <= 4; ++chunks)
        cases.push_back({PipelineSchedule::interleaved, ranks, micro_batches, chunks});
    }
  return cases;
}

std::string name_of(const Case& c) {
  return text("schedule ", static_cast<int>(c.schedule), ", ", c.ranks, " ranks, ", c.micro_batches, " micro-batches, ",
              c.chunks, " chunks");
}

// ---- tables ----

TEST(MakePipelineSchedule, GivesThePublishedTableOf1F1B) {
  EXPECT_EQ(print_pipeline_schedule(make_pipeline_schedule(PipelineSchedule::one_f_one_b, 4, 8, 1)),
            "rank 0: F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7\n"
            "rank 1: F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7\n"
            "rank 2: F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 B7\n"
            "rank 3: F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7\n");
}

TEST(MakePipelineSchedule, RunsAllForwardsThenAllBackwardsInOneOrderWithGPipe) {
  EXPECT_EQ(print_pipeline_schedule(make_pipeline_schedule(PipelineSchedule::gpipe, 2, 3, 1)),
            "rank 0: F0 F1 F2 B0 B1 B2\n"
            "rank 1: F0 F1 F2 B0 B1 B2\n");
}

TEST(MakePipelineSchedule, RunsGroupsOfMicroBatchesThroughEachChunkWhenInterleaved) {
  EXPECT_EQ(print_pipeline_schedule(make_pipeline_schedule(PipelineSchedule::interleaved, 2, 4, 2)),
            "rank 0: F0@0 F1@0 F0@2 F1@2 F2@0 B0@2 F3@0 B1@2 F2@2 B0@0 F3@2 B1@0 B2@2 B3@2 B2@0 B3@0\n"
            "rank 1: F0@1 F1@1 F0@3 B0@3 F1@3 B1@3 F2@1 B0@1 F3@1 B1@1 F2@3 B2@3 F3@3 B3@3 B2@1 B3@1\n");
}

TEST(MakePipelineSchedule, Gives1F1BWhenInterleavedWithOneChunk) {
  EXPECT_EQ(make_pipeline_schedule(PipelineSchedule::interleaved, 4, 8, 1),
            make_pipeline_schedule(PipelineSchedule::one_f_one_b, 4, 8, 1));
}

TEST(MakePipelineSchedule, GivesTablesThatTheVerifierAccepts) {
  for (const Case& c : all_cases())
    EXPECT_NO_THROW(verify_pipeline_schedule(c.table(), c.micro_batches, c.chunks)) << name_of(c);
}

// Gradients are summed over micro-batches in one order, so that schedules give the same bits.
TEST(MakePipelineSchedule, RunsTheMicroBatchesOfEachStageInTheirOrderForwardAndBackward) {
  for (const Case& c : all_cases()) {
    const PipelineTable table = c.table();
    for (int stage = 0; stage < c.stages(); ++stage)
      for (auto phase : {kForward, kBackward}) {
        int next = 0;
        for (const PipelineAction& action : table[stage % c.ranks])
          if (action.stage == stage && action.phase == phase) {
            EXPECT_EQ(action.micro_batch, next++) << name_of(c);
          }
        EXPECT_EQ(next, c.micro_batches) << name_of(c);
      }
  }
}

// Megatron-LM's counts of forwards ahead of the first pair, and nothing but pairs between warm-up and drain.
TEST(MakePipelineSchedule, WarmsUpAlternatesAndDrains) {
  for (const Case& c : all_cases()) {
    if (c.schedule == PipelineSchedule::gpipe) continue;
    const PipelineTable table = c.table();
    for (int rank = 0; rank < c.ranks; ++rank) {
      const int total = c.micro_batches * c.chunks, behind = c.ranks - 1 - rank;
      const int warm_up = std::min(total, c.chunks == 1 ? behind : 2 * behind + (c.chunks - 1) * c.ranks);
      std::string phases, expected(warm_up, 'F');
      for (const PipelineAction& action : table[rank]) phases += action.phase == kForward ? 'F' : 'B';
      for (int i = warm_up; i < total; ++i) expected += "FB";
      EXPECT_EQ(phases, expected + std::string(warm_up, 'B')) << name_of(c) << ", rank " << rank;
    }
  }
}

TEST(MakePipelineSchedule, RefusesSizesThatMakeNoTable) {
  using enum PipelineSchedule;
  auto expect_refused = [](const char* expected, PipelineSchedule schedule, int ranks, int micro_batches, int chunks) {
    EXPECT_THROWS(Status::invalid_argument, std::string("pipeline schedule: ") + expected,
                  make_pipeline_schedule(schedule, ranks, micro_batches, chunks));
  };
  expect_refused("ranks is 0, need at least 1", gpipe, 0, 8, 1);
  expect_refused("micro_batches is -1, need at least 1", one_f_one_b, 4, -1, 1);
  expect_refused("chunks is 0, need at least 1", interleaved, 4, 8, 0);
  expect_refused("chunks is 2, need 1, or the interleaved schedule", gpipe, 4, 8, 2);
  expect_refused("chunks is 3, need 1, or the interleaved schedule", one_f_one_b, 4, 8, 3);
  expect_refused("interleaved has 10 micro-batches over 4 ranks, needs a multiple of 4", interleaved, 4, 10, 2);
  expect_refused("interleaved has 2 micro-batches over 4 ranks, needs a multiple of 4", interleaved, 4, 2, 2);
  expect_refused("65536 ranks of 65536 stages run 65536 micro-batches", interleaved, 65536, 65536, 65536);
  expect_refused("schedule is 4, need 1 to 3", static_cast<PipelineSchedule>(4), 4, 8, 1);
}

// ---- actions ----

TEST(InputOf, FollowsAMicroBatchForwardThroughAllStagesAndBack) {
  std::optional<PipelineAction> action = PipelineAction{kForward, 5, 0};
  std::string path;
  for (std::optional<PipelineAction> last; action; last = action, action = reader_of(*action, 3)) {
    EXPECT_EQ(input_of(*action, 3), last);
    path += name_of(*action) + ", ";
  }
  EXPECT_EQ(path, "F5 of stage 0, F5 of stage 1, F5 of stage 2, B5 of stage 2, B5 of stage 1, B5 of stage 0, ");
}

TEST(IndexOf, NumbersEveryActionOnce) {
  std::vector<int> seen(2 * 6 * 9);
  for (const auto& actions : make_pipeline_schedule(PipelineSchedule::interleaved, 3, 9, 2))
    for (const PipelineAction& action : actions) ++seen.at(index_of(action, 9));
  EXPECT_EQ(seen, std::vector<int>(2 * 6 * 9, 1));
}

// ---- the verifier ----

constexpr Case kCase{PipelineSchedule::interleaved, 3, 6, 2};

void expect_malformed(const PipelineTable& table, const std::string& expected) {
  EXPECT_THROWS(Status::internal, "pipeline schedule: rank " + expected,
                verify_pipeline_schedule(table, kCase.micro_batches, kCase.chunks));
}

// Calls `corrupt` with a fresh table for every action of it.
void for_every_action(const std::function<void(PipelineTable, int, size_t)>& corrupt) {
  const PipelineTable table = kCase.table();
  for (int rank = 0; rank < kCase.ranks; ++rank)
    for (size_t i = 0; i < table[rank].size(); ++i) corrupt(table, rank, i);
}

TEST(VerifyPipelineSchedule, NamesAnActionThatIsLeftOut) {
  for_every_action([](PipelineTable table, int rank, size_t i) {
    const PipelineAction action = table[rank][i];
    table[rank].erase(table[rank].begin() + static_cast<std::ptrdiff_t>(i));
    expect_malformed(table, text(rank, " lacks ", name_of(action)));
  });
}

TEST(VerifyPipelineSchedule, NamesAnActionThatIsThereTwice) {
  for_every_action([](PipelineTable table, int rank, size_t i) {
    const PipelineAction action = table[rank][i];
    table[rank].push_back(action);
    expect_malformed(table,
                     text(rank, " runs ", name_of(action), " twice, as actions ", i, " and ", table[rank].size() - 1));
  });
}

TEST(VerifyPipelineSchedule, NamesAnActionOnARankWhereItsStageDoesNotLie) {
  for_every_action([](PipelineTable table, int rank, size_t i) {
    const PipelineAction action = table[rank][i];
    const int other = (rank + 1) % kCase.ranks;
    table[other].insert(table[other].begin(), action);
    expect_malformed(table, text(other, " runs ", name_of(action), ", which belongs to rank ", rank));
  });
}

TEST(VerifyPipelineSchedule, NamesABackwardAheadOfItsForward) {
  for_every_action([](PipelineTable table, int rank, size_t i) {
    const PipelineAction action = table[rank][i];
    if (action.phase == kForward) return;
    table[rank].erase(table[rank].begin() + static_cast<std::ptrdiff_t>(i));
    table[rank].insert(table[rank].begin(), action);
    expect_malformed(table, text(rank, " runs ", name_of(action), " ahead of F", action.micro_batch, " of stage ",
                                 action.stage, ", for which it waits"));
  });
}

TEST(VerifyPipelineSchedule, NamesAnActionOfAMicroBatchOrStageThatIsNotThere) {
  PipelineTable table = kCase.table();
  table[1][4].micro_batch = 6;
  expect_malformed(table, "1 runs F6 of stage 4, there are 6 micro-batches");
  table[1][4].micro_batch = -1;
  expect_malformed(table, "1 runs F-1 of stage 4, there are 6 micro-batches");
  table = kCase.table();
  table[2][0].stage = 8;
  expect_malformed(table, "2 runs F0 of stage 8, there are 6 stages");
  table[2][0].stage = -1;
  expect_malformed(table, "2 runs F0 of stage -1, there are 6 stages");
}

TEST(VerifyPipelineSchedule, RefusesATableOfOtherSizes) {
  EXPECT_THROWS(Status::internal, "pipeline schedule: rank 0 lacks F6 of stage 0",
                verify_pipeline_schedule(kCase.table(), 7, 2));
  EXPECT_THROWS(Status::internal, "pipeline schedule: rank 0 lacks F0 of stage 6",
                verify_pipeline_schedule(kCase.table(), 6, 3));
  EXPECT_THROWS(Status::invalid_argument, "ranks is 0", verify_pipeline_schedule({}, 6, 2));
  EXPECT_THROWS(Status::invalid_argument, "micro_batches is 0", verify_pipeline_schedule(kCase.table(), 0, 2));
  EXPECT_THROWS(Status::invalid_argument, "chunks is 0", verify_pipeline_schedule(kCase.table(), 6, 0));
}

}  // namespace
}  // namespace troika
