// Tests of the split of samples over devices.
#include "core/split.h"

#include <gtest/gtest.h>

#include <vector>

namespace troika {
namespace {

std::vector<int64_t> sizes(int64_t n, int64_t pieces) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < pieces; ++i) result.push_back(balanced_split(n, pieces, i).size());
  return result;
}

// The column "balanced (recommended)" of the table of splits.
TEST(BalancedSplit, CutsAsTheTableSays) {
  using Sizes = std::vector<int64_t>;
  EXPECT_EQ(sizes(10, 4), (Sizes{3, 3, 2, 2}));
  EXPECT_EQ(sizes(31, 8), (Sizes{4, 4, 4, 4, 4, 4, 4, 3}));
  EXPECT_EQ(sizes(38, 8), (Sizes{5, 5, 5, 5, 5, 5, 4, 4}));
  EXPECT_EQ(sizes(50, 8), (Sizes{7, 7, 6, 6, 6, 6, 6, 6}));
  EXPECT_EQ(sizes(9, 8), (Sizes{2, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(sizes(3, 8), (Sizes{1, 1, 1, 0, 0, 0, 0, 0}));
}

TEST(BalancedSplit, CoversEverySampleOnceInOrder) {
  for (int64_t n = 0; n <= 40; ++n)
    for (int64_t pieces = 1; pieces <= 9; ++pieces) {
      int64_t next = 0;
      for (int64_t i = 0; i < pieces; ++i) {
        const Range range = balanced_split(n, pieces, i);
        EXPECT_EQ(range.begin, next);
        EXPECT_GE(range.size(), n / pieces);
        EXPECT_LE(range.size(), n / pieces + 1);
        next = range.end;
      }
      EXPECT_EQ(next, n);
    }
}

TEST(BalancedSplit, GivesOneDeviceEverything) { EXPECT_EQ(balanced_split(7, 1, 0), (Range{0, 7})); }

}  // namespace
}  // namespace troika
