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

std::vector<int64_t> sizes_of(const ShareSizes& sizes, int64_t n) {
  std::vector<int64_t> found;
  for (int64_t share = 0; share < sizes.shares; ++share) found.push_back(sizes.rows(n, share).size());
  return found;
}

TEST(ShareSizes, AreAsTheirNumbers) {
  EXPECT_EQ(sizes_of({2, {3, 1}}, 10), (std::vector<int64_t>{8, 2}));
  EXPECT_EQ(sizes_of({3, {1, 2, 1}}, 400), (std::vector<int64_t>{100, 200, 100}));
  EXPECT_EQ(sizes_of({2, {0.5, 0.5}}, 7), (std::vector<int64_t>{4, 3}));
  EXPECT_EQ(sizes_of({2, {100, 1}}, 3), (std::vector<int64_t>{3, 0}));
  EXPECT_EQ(sizes_of({4}, 10), (std::vector<int64_t>{3, 3, 2, 2}));
}

TEST(ShareSizes, CoverTheBatch) {
  for (const ShareSizes& sizes : {ShareSizes{3, {0.1, 0.7, 0.2}}, ShareSizes{5, {9, 1e-3, 4, 4, 1}}, ShareSizes{4}})
    for (int64_t n = 0; n < 300; ++n) {
      int64_t end = 0;
      for (int64_t share = 0; share < sizes.shares; ++share) {
        const Range rows = sizes.rows(n, share);
        EXPECT_EQ(rows.begin, end);
        EXPECT_LE(std::abs(static_cast<double>(rows.size()) - sizes.fraction(share, 1) * static_cast<double>(n)), 1);
        end = rows.end;
      }
      EXPECT_EQ(end, n);
    }
}

// A process finds the size of the whole batch among these.
TEST(Division, KnowsTheBatchesOfWhichItMayHaveSoManyRows) {
  for (const ShareSizes& sizes : {ShareSizes{4, {5, 1, 1, 3}}, ShareSizes{4, {1e-3, 1, 2, 1}}, ShareSizes{4}})
    for (int64_t first = 0; first < 4; ++first)
      for (int64_t count = 1; first + count <= 4; ++count)
        for (int64_t n = 1; n < 200; ++n) {
          const Division division{sizes, first, count};
          const Range batches = division.batches_of(division.rows(n).size());
          EXPECT_LE(batches.begin, n);
          EXPECT_GT(batches.end, n);
        }
}

}  // namespace
}  // namespace troika
