// Tests of the memory plan: blocks that are live at the same time never overlap, whatever their
// sizes and lifetimes.
#include "plan/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace troika {
namespace {

std::vector<size_t> offsets(std::vector<MemoryBlock> blocks) {
  plan_memory(blocks);
  std::vector<size_t> result;
  for (const MemoryBlock& block : blocks) result.push_back(block.offset);
  return result;
}

size_t arena(std::vector<MemoryBlock> blocks) { return plan_memory(blocks); }

using Offsets = std::vector<size_t>;

TEST(PlanMemory, NeedsNothingForNothing) { EXPECT_EQ(arena({}), 0u); }

TEST(PlanMemory, PutsBlocksThatLiveTogetherBesideEachOtherLargestFirst) {
  EXPECT_EQ(offsets({{256, 0, 1}, {512, 1, 2}}), (Offsets{512, 0}));
  EXPECT_EQ(arena({{256, 0, 1}, {512, 1, 2}}), 768u);
}

TEST(PlanMemory, GivesBlocksThatNeverMeetTheSamePlace) {
  EXPECT_EQ(offsets({{400, 0, 1}, {400, 2, 3}, {50, 4, 4}}), (Offsets{0, 0, 0}));
  EXPECT_EQ(arena({{400, 0, 1}, {400, 2, 3}, {50, 4, 4}}), 512u);
}

TEST(PlanMemory, CountsBothEndsOfALifetime) { EXPECT_EQ(offsets({{256, 0, 2}, {256, 2, 4}}), (Offsets{0, 256})); }

TEST(PlanMemory, FillsAHoleWhereABlockFits) {
  // a (1024 bytes) is at 0 in steps 0..1, b (512) is after a in all steps. c (768) uses a's memory,
  // and d (256) the rest of a's memory.
  EXPECT_EQ(offsets({{1024, 0, 1}, {512, 0, 3}, {768, 2, 3}, {256, 2, 3}}), (Offsets{0, 1024, 0, 768}));
  EXPECT_EQ(arena({{1024, 0, 1}, {512, 0, 3}, {768, 2, 3}, {256, 2, 3}}), 1536u);
}

TEST(PlanMemory, AlignsEveryBlock) {
  EXPECT_EQ(offsets({{65, 0, 0}, {3, 0, 0}, {2, 0, 0}}), (Offsets{0, 256, 512}));
  EXPECT_EQ(arena({{65, 0, 0}, {3, 0, 0}, {2, 0, 0}}), 768u);
}

TEST(PlanMemory, KeepsBlocksThatLiveTogetherApartWhateverTheyAre) {
  std::mt19937 random(1);
  for (int set = 0; set < 200; ++set) {
    std::vector<MemoryBlock> blocks(1 + random() % 60);
    for (MemoryBlock& block : blocks) {
      block.bytes = 1 + random() % (random() % 4 ? 300 : 20000);
      block.first = static_cast<int>(random() % 40) - 1;
      block.last = block.first + static_cast<int>(random() % (random() % 3 ? 5 : 40));
    }
    const size_t bytes = plan_memory(blocks);
    EXPECT_EQ(bytes % kArenaAlignment, 0u);
    size_t peak = 0;
    for (int now = -1; now < 80; ++now) {
      size_t live = 0;
      for (const MemoryBlock& block : blocks)
        if (block.first <= now && now <= block.last) live += block.bytes;
      peak = std::max(peak, live);
    }
    EXPECT_GE(bytes, peak) << "set " << set;
    for (const MemoryBlock& a : blocks) {
      EXPECT_EQ(a.offset % kArenaAlignment, 0u);
      EXPECT_LE(a.offset + a.bytes, bytes);
      for (const MemoryBlock& b : blocks)
        EXPECT_TRUE(&a == &b || a.last < b.first || b.last < a.first || a.offset + a.bytes <= b.offset ||
                    b.offset + b.bytes <= a.offset)
            << "set " << set;
    }
  }
}

}  // namespace
}  // namespace troika
