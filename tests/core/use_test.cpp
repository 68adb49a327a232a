// Tests of marks of calls in progress.
#include "core/use.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
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

// A value is odd while a thread changes it.
TEST(Use, KeepsReadersApartFromWriters) {
  Use use;
  constexpr int kWriters = 3, kChanges = 300;
  std::atomic<int64_t> value{0}, odd{0}, reads{0};
  std::atomic<int> writing{kWriters};
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number)
    threads.emplace_back([&] {
      while (writing > 0) {
        if (use.begin_together()) {
          odd += value % 2;
          ++reads;
          use.end_together();
        }
        std::this_thread::yield();
      }
    });
  for (int number = 0; number < kWriters; ++number)
    threads.emplace_back([&, number] {
      for (int changes = 0; changes < kChanges;)
        if (number > 0 ? use.begin_alone() : use.begin_briefly()) {
          odd += value++ % 2;
          std::this_thread::yield();
          ++value;
          ++changes;
          number > 0 ? use.end_alone() : use.end_briefly();
        }
      --writing;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(odd, 0);
  EXPECT_GT(reads, 0);
  EXPECT_EQ(value, 2 * kWriters * kChanges);
  EXPECT_TRUE(use.begin_alone());
}

TEST(Use, MakesCallsWaitForABriefUse) {
  for (const bool alone : {true, false}) {
    Use use;
    ASSERT_TRUE(use.begin_briefly());
    EXPECT_TRUE(Use(use).begin_briefly()) << "a copy is not in use";
    std::atomic<bool> has_begun{false};
    std::thread call([&] { has_begun = alone ? use.begin_alone() : use.begin_together(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(has_begun);
    use.end_briefly();
    call.join();
    EXPECT_TRUE(has_begun) << alone;
    EXPECT_FALSE(use.begin_briefly()) << "a call is in progress";
  }
}

}  // namespace
}  // namespace troika
