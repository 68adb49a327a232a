// Tests of the comparison of clocks.
#include "train/process_clock.h"

#include <gtest/gtest.h>

#include <random>

namespace troika {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;
using Moment = std::chrono::steady_clock::time_point;

// Rounds of two processes, whose messages take 20 to 120 us. The own clock is `offset` earlier than
// the first clock.
ClockDifference rounds(nanoseconds offset, int count) {
  std::mt19937 random(7);
  const auto latency = [&] { return microseconds(20 + random() % 100); };
  ClockDifference difference;
  Moment now(std::chrono::hours(100));
  for (int round = 0; round < count; ++round) {
    const Moment first_said = now + latency(), own_said = now + latency();
    const Moment complete = std::max(first_said, own_said + latency());  // by the first clock
    const Moment first_heard = complete + latency(), own_heard = complete + latency();
    difference.add({first_said, first_heard}, {own_said - offset, own_heard - offset});
    now = std::max(first_heard, own_heard);
  }
  return difference;
}

TEST(ClockDifference, IsWithinItsError) {
  for (const nanoseconds offset :
       {nanoseconds(std::chrono::hours(-70)), nanoseconds(0), nanoseconds(std::chrono::seconds(5))})
    for (int count : {1, 2, 16}) {
      const ClockDifference difference = rounds(offset, count);
      const nanoseconds distance = difference.estimate() - offset;
      EXPECT_LE(distance, difference.error());
      EXPECT_GE(distance, -difference.error());
      EXPECT_LE(difference.error(), microseconds(240));
      EXPECT_EQ(difference.can_be_0(), offset == nanoseconds(0));
    }
}

TEST(ClockDifference, IsBetterKnownAfterMoreRounds) {
  const nanoseconds offset = std::chrono::seconds(5);
  EXPECT_LT(rounds(offset, 16).error(), rounds(offset, 1).error());
  EXPECT_LE(rounds(offset, 16).error(), microseconds(80));
}

}  // namespace
}  // namespace troika
