// Tests of marks of calls in progress.
#include "core/use.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace troika {
namespace {

TEST(Use, IsEitherAloneOrTogether) {
  Use use;
  EXPECT_TRUE(use.begin_alone());
  EXPECT_FALSE(use.begin_alone());
  EXPECT_FALSE(use.begin_together());
  EXPECT_TRUE(Use(use).begin_alone()) << "a copy is not in use";
  use.end_alone();
  EXPECT_TRUE(use.begin_together());
  EXPECT_TRUE(use.begin_together());
  EXPECT_FALSE(use.begin_alone());
  use.end_together();
  EXPECT_FALSE(use.begin_alone());
  use.end_together();
  EXPECT_TRUE(use.begin_alone());
}

TEST(Use, KeepsReadersApartFromWriters) {
  Use use;
  int64_t value = 0, written = 0;  // race-free only by `use`
  std::vector<std::thread> threads;
  std::vector<int64_t> seen(4, 0);
  for (int64_t& own : seen)
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i)
        if (use.begin_together()) {
          own += value >= 0;
          use.end_together();
        }
    });
  for (int number = 0; number < 2; ++number)
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i)
        if (use.begin_alone()) {
          ++written;
          ++value;
          use.end_alone();
        }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(value, written);
  EXPECT_TRUE(use.begin_alone());
}

}  // namespace
}  // namespace troika
