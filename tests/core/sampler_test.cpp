// Sampler: a permutation per (seed, epoch), which never changes between versions.
#include "core/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace troika {
namespace {

std::vector<int64_t> order_of(const Sampler& sampler, int64_t n) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < n; ++i) order.push_back(sampler.index_of(i));
  return order;
}

bool is_permutation(std::vector<int64_t> order) {
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i)
    if (order[i] != static_cast<int64_t>(i)) return false;
  return true;
}

// The numbers come from a separate implementation in Python. A change here breaks every resumed
// training.
TEST(Sampler, gives_the_same_order_in_every_version) {
  EXPECT_EQ(order_of(Sampler(10, 0, 0), 10), (std::vector<int64_t>{2, 5, 0, 6, 3, 8, 1, 4, 9, 7}));
  EXPECT_EQ(order_of(Sampler(10, 0, 1), 10), (std::vector<int64_t>{9, 3, 1, 6, 0, 7, 2, 5, 8, 4}));
  EXPECT_EQ(order_of(Sampler(10, 7, 0), 10), (std::vector<int64_t>{6, 9, 5, 1, 7, 4, 0, 3, 8, 2}));
  EXPECT_EQ(order_of(Sampler(13, 123456789012345, 4), 13),
            (std::vector<int64_t>{6, 3, 0, 7, 12, 1, 10, 2, 9, 11, 5, 4, 8}));
}

TEST(Sampler, gives_a_permutation_for_every_size_seed_and_epoch) {
  for (int64_t n : {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 100, 255, 256, 257, 1000})
    for (uint64_t seed : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}})
      for (int64_t epoch : {int64_t{0}, int64_t{1}, int64_t{99}, int64_t{1} << 62})
        EXPECT_TRUE(is_permutation(order_of(Sampler(n, seed, epoch), n))) << n << ' ' << seed << ' ' << epoch;
  EXPECT_TRUE(is_permutation(order_of(Sampler(60000, 3, 2), 60000)));
}

TEST(Sampler, gives_another_order_for_another_epoch_or_seed) {
  const auto order = order_of(Sampler(100, 5, 0), 100);
  EXPECT_NE(order, order_of(Sampler(100, 5, 1), 100));
  EXPECT_NE(order, order_of(Sampler(100, 6, 0), 100));
  EXPECT_NE(order_of(Sampler(100, 5, 1), 100), order_of(Sampler(100, 6, 0), 100)) << "seed + epoch is not the key";
}

TEST(Sampler, gives_the_same_order_to_every_rank) {
  EXPECT_EQ(order_of(Sampler(1000, 5, 3), 1000), order_of(Sampler(1000, 5, 3), 1000));
}

// Over 24,000 seeds, each of the 24 orders of 4 samples is expected 1,000 times, with a standard
// deviation of 31.
TEST(Sampler, gives_every_order_equally_often) {
  std::map<std::vector<int64_t>, int> counts;
  for (uint64_t seed = 0; seed < 24000; ++seed) ++counts[order_of(Sampler(4, seed, 0), 4)];
  EXPECT_EQ(counts.size(), 24u);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 160);
}

TEST(Sampler, leaves_the_order_alone_where_nothing_is_shuffled) {
  EXPECT_EQ(order_of(Sampler(4), 4), (std::vector<int64_t>{0, 1, 2, 3}));
}

TEST(Sampler, reaches_any_position_of_an_enormous_dataset_at_once) {
  const int64_t n = (int64_t{1} << 50) + 1;
  const Sampler sampler(n, 1, 1);
  for (int64_t position : {int64_t{0}, int64_t{1}, n - 1}) {
    EXPECT_GE(sampler.index_of(position), 0);
    EXPECT_LT(sampler.index_of(position), n);
  }
}

}  // namespace
}  // namespace troika
