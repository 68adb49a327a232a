// Tests of messages between threads: their order, deadlines, sizes and aborts.
#include "comm/local/local_messages.h"

#include <gtest/gtest.h>

#include "comm/local/ranks.h"

namespace troika {
namespace {

TEST(LocalMessages, ArriveWhateverTheOrderOfSendingAndReceiving) {
  expect_no_errors(on_every_rank(3, [](Messenger& own) {
    const int next = (own.rank() + 1) % 3, last = (own.rank() + 2) % 3;
    for (int round = 0; round < 50; ++round) {
      for (int slot = 0; slot < 4; ++slot) {
        const std::vector<float> data = numbers(own.rank(), 7 + slot, round * 10 + slot);
        own.send(next, slot, data.data(), data.size() * sizeof(float), in(10s));
      }
      for (int slot = 3; slot >= 0; --slot) {
        std::vector<float> data(static_cast<size_t>(7 + slot), -1);
        own.receive(last, slot, data.data(), data.size() * sizeof(float), in(10s));
        if (data != numbers(last, 7 + slot, round * 10 + slot)) throw Error(Status::internal, "other numbers came");
      }
    }
  }));
}

TEST(LocalMessages, EndAtTheDeadlineAndSayForWhat) {
  const auto errors = on_every_rank(2, [](Messenger& own) {
    float x = 0;
    if (own.rank() == 0) own.receive(1, 5, &x, sizeof x, in(20ms));
    if (own.rank() == 1) {
      own.send(0, 3, &x, sizeof x, in(20ms));
      own.send(0, 3, &x, sizeof x, in(20ms));
    }
  });
  EXPECT_EQ(errors[0], "comm: rank 0 of 2 waited past the deadline for message 5 of rank 1");
  EXPECT_EQ(errors[1],
            "comm: rank 1 of 2 waited past the deadline to send message 3 to rank 0 again, which has not received it");
}

TEST(LocalMessages, AreRefusedWhereSizesDiffer) {
  const auto errors = on_every_rank(2, [](Messenger& own) {
    const double x[2] = {1, 2};
    double y = 0;
    if (own.rank() == 0) own.send(1, 0, x, sizeof x, in(10s));
    if (own.rank() == 1) own.receive(0, 0, &y, sizeof y, in(10s));
  });
  EXPECT_EQ(errors[1], "other: message 0 of rank 0 has 16 bytes, rank 1 needs 8");
}

TEST(LocalMessages, EndWithTheGroup) {
  const auto errors = on_every_rank(2, [](Messenger& own) {
    float x = 0;
    if (own.rank() == 0) own.receive(1, 0, &x, sizeof x, in(10s));
    if (own.rank() == 1) own.abort("rank 1 is lost");
  });
  EXPECT_EQ(errors[0], "comm: rank 0: the group was aborted: rank 1 is lost");
}

}  // namespace
}  // namespace troika
