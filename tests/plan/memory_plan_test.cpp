// Tests of the memory plan: blocks that live together never overlap, whatever their sizes and lifetimes.
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
  EXPECT_EQ(offsets({{64, 0, 1}, {128, 1, 2}}), (Offsets{128, 0}));
  EXPECT_EQ(arena({{64, 0, 1}, {128, 1, 2}}), 192u);
}

TEST(PlanMemory, GivesBlocksThatNeverMeetTheSamePlace) {
  EXPECT_EQ(offsets({{100, 0, 1}, {100, 2, 3}, {50, 4, 4}}), (Offsets{0, 0, 0}));
  EXPECT_EQ(arena({{100, 0, 1}, {100, 2, 3}, {50, 4, 4}}), 128u);
}

TEST(PlanMemory, CountsBothEndsOfALifetime) { EXPECT_EQ(offsets({{64, 0, 2}, {64, 2, 4}}), (Offsets{0, 64})); }

TEST(PlanMemory, FillsAHoleWhereABlockFits) {
  // a (256) lies at 0 during 0..1, b (128) above it throughout; c (192) takes a's place, d (64) the rest of it.
  EXPECT_EQ(offsets({{256, 0, 1}, {128, 0, 3}, {192, 2, 3}, {64, 2, 3}}), (Offsets{0, 256, 0, 192}));
  EXPECT_EQ(arena({{256, 0, 1}, {128, 0, 3}, {192, 2, 3}, {64, 2, 3}}), 384u);
}

TEST(PlanMemory, AlignsEveryBlock) {
  EXPECT_EQ(offsets({{65, 0, 0}, {3, 0, 0}, {2, 0, 0}}), (Offsets{0, 128, 192}));
  EXPECT_EQ(arena({{65, 0, 0}, {3, 0, 0}, {2, 0, 0}}), 256u);
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
