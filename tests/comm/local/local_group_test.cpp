// Tests of the collectives between threads: the sum's bits, slots in flight, uneven arrival,
// deadlines and aborts.
#include "comm/local/local_group.h"

#include <gtest/gtest.h>

#include "comm/local/ranks.h"
#include "support/throws.h"

namespace troika {
namespace {

// Returns the sum in pairs of ranks, then in pairs of pairs.
std::vector<float> sum_in_pairs(int size, int64_t count, int seed) {
  std::vector<std::vector<float>> sums;
  for (int rank = 0; rank < size; ++rank) sums.push_back(numbers(rank, count, seed));
  for (size_t half = 1; half < sums.size(); half *= 2)
    for (size_t left = 0; left + half < sums.size(); left += 2 * half)
      for (size_t i = 0; i < sums[left].size(); ++i) sums[left][i] += sums[left + half][i];
  return sums[0];
}

class LocalGroupOfSize : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, LocalGroupOfSize, testing::Values(1, 2, 3, 4, 8));

TEST_P(LocalGroupOfSize, SumsInPairsOfPairsOfRanksWithTheSameBitsEverywhere) {
  const int size = GetParam();
  for (int64_t count : {1, 15, 16, 17, 1000, 100003}) {
    const std::vector<float> expected = sum_in_pairs(size, count, 1);
    expect_no_errors(on_every_rank(size, 1, [&](Communicator& c) {
      std::vector<float> data = numbers(c.rank(), count, 1);
      c.start(0, Collective::all_reduce(DType::f32, count), data.data());
      c.wait(0, in(60s));
      EXPECT_TRUE(data == expected) << "rank " << c.rank() << " of " << size << ", " << count << " elements";
    }));
  }
}

TEST_P(LocalGroupOfSize, KeepsSeveralSlotsInFlightOverFiftySteps) {
  const int size = GetParam(), slots = 5;
  const int64_t counts[slots] = {1, 17, 1000, 16, 4099};
  std::vector<std::vector<float>> expected;
  for (int s = 0; s < slots; ++s) expected.push_back(sum_in_pairs(size, counts[s], s));
  expect_no_errors(on_every_rank(size, slots, [&](Communicator& c) {
    for (int step = 0; step < 50; ++step) {
      std::vector<std::vector<float>> data;
      for (int s = 0; s < slots; ++s) data.push_back(numbers(c.rank(), counts[s], s));
      for (int s = 0; s < slots; ++s) {
        c.start(s, Collective::all_reduce(DType::f32, counts[s]), data[static_cast<size_t>(s)].data());
        c.progress();
      }
      for (int s = 0; s < slots; ++s) {
        c.wait(s, in(60s));
        ASSERT_TRUE(data[static_cast<size_t>(s)] == expected[static_cast<size_t>(s)])
            << "rank " << c.rank() << ", step " << step << ", slot " << s;
      }
    }
  }));
}

TEST(LocalGroup, RefusesSumsOfOtherTypes) {
  const auto c = create_local_communicators(2, 1);
  uint16_t data = 0;
  EXPECT_THROWS(Status::internal, "collective 0: rank 0 starts all_reduce of bf16, needs f32, f64, i32 or i64",
                (c[0]->start(0, Collective::all_reduce(DType::bf16, 1), &data), 0));
}

TEST_P(LocalGroupOfSize, SumsTheSameWhenRanksArriveUnevenly) {
  const int size = GetParam(), slots = 3;
  const int64_t count = 3001;
  std::vector<std::vector<float>> expected;
  for (int s = 0; s < slots; ++s) expected.push_back(sum_in_pairs(size, count, s));
  expect_no_errors(on_every_rank(size, slots, [&](Communicator& c) {
    std::mt19937 random(static_cast<unsigned>(c.rank()));
    auto dawdle = [&] { std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000)); };
    for (int step = 0; step < 12; ++step) {
      std::vector<std::vector<float>> data;
      for (int s = 0; s < slots; ++s) data.push_back(numbers(c.rank(), count, s));
      for (int s = 0; s < slots; ++s) {
        dawdle();
        c.start(s, Collective::all_reduce(DType::f32, count), data[static_cast<size_t>(s)].data());
        dawdle();
        c.progress();
      }
      for (int s = 0; s < slots; ++s) {
        dawdle();
        c.wait(s, in(60s));
        ASSERT_TRUE(data[static_cast<size_t>(s)] == expected[static_cast<size_t>(s)])
            << "rank " << c.rank() << ", step " << step << ", slot " << s;
      }
    }
  }));
}

// A fast rank starts the next round of a slot before the other ranks have seen the previous round.
TEST_P(LocalGroupOfSize, GathersWhatEachRankOwnsBesideSumsInFlight) {
  const int size = GetParam();
  constexpr size_t kPieces = 7, kBytes = 4096;
  std::vector<OwnedBytes> pieces;
  for (size_t i = 0; i < kPieces; ++i) pieces.push_back({i * kBytes, (i + 1) * kBytes, static_cast<int>(i * i) % size});
  expect_no_errors(on_every_rank(size, 2, [&](Communicator& c) {
    std::vector<std::byte> data(kPieces * kBytes);
    std::vector<float> sums(1000);
    for (int round = 1; round <= 50; ++round) {
      for (const OwnedBytes& piece : pieces)  // pieces of other ranks are poison
        std::fill(data.begin() + static_cast<int64_t>(piece.begin), data.begin() + static_cast<int64_t>(piece.end),
                  piece.owner == c.rank() ? std::byte(round + piece.owner) : std::byte{0xFF});
      std::fill(sums.begin(), sums.end(), 1.0f);
      c.start(0, Collective::all_reduce(DType::f32, static_cast<int64_t>(sums.size())), sums.data());
      c.start(1, Collective::all_gather(pieces), data.data());
      c.progress();
      c.wait(0, in(60s));
      c.wait(1, in(60s));
      EXPECT_EQ(sums[999], static_cast<float>(size));
      for (const OwnedBytes& piece : pieces)
        EXPECT_EQ(std::count(data.begin() + static_cast<int64_t>(piece.begin),
                             data.begin() + static_cast<int64_t>(piece.end), std::byte(round + piece.owner)),
                  static_cast<int64_t>(kBytes))
            << "rank " << c.rank() << ", round " << round << ", piece of " << piece.owner;
    }
  }));
}

// Pieces have odd sizes, and one piece is empty.
TEST_P(LocalGroupOfSize, ScattersTheSumsThatAllReduceGives) {
  const int size = GetParam();
  const int64_t count = 5000 * size + 3;
  std::vector<OwnedBytes> pieces;
  for (int rank = 0, end = 0; rank < size; ++rank) {
    const int begin = end;
    end = rank + 1 == size ? static_cast<int>(count) : rank == 1 ? end : end + 4999;
    pieces.push_back({begin * sizeof(float), end * sizeof(float), rank});
  }
  expect_no_errors(on_every_rank(size, 2, [&](Communicator& c) {
    std::mt19937 engine(static_cast<unsigned>(c.rank()));
    std::normal_distribution<float> normal;
    for (int round = 0; round < 20; ++round) {
      std::vector<float> summed(static_cast<size_t>(count));
      for (float& v : summed) v = normal(engine);
      std::vector<float> scattered = summed;
      const std::vector<float> before = summed;
      c.start(0, Collective::reduce_scatter(pieces), scattered.data());
      c.start(1, Collective::all_reduce(DType::f32, count), summed.data());
      c.wait(0, in(60s));
      c.wait(1, in(60s));
      for (const OwnedBytes& piece : pieces)
        for (size_t i = piece.begin / sizeof(float); i < piece.end / sizeof(float); ++i)
          ASSERT_EQ(scattered[i], (piece.owner == c.rank() ? summed : before)[i])
              << "rank " << c.rank() << ", element " << i;
    }
  }));
}

TEST(LocalGroup, LetsAQuickRankBeginTheNextRoundEarly) {
  auto c = create_local_communicators(2, 1);
  float a = 1, b = 2;
  c[0]->start(0, Collective::all_reduce(DType::f32, 1), &a);
  c[1]->start(0, Collective::all_reduce(DType::f32, 1), &b);
  c[1]->progress();
  c[0]->wait(0, in(10s));
  EXPECT_EQ(a, 3.0f);
  float next_a = 10, next_b = 20;
  c[0]->start(0, Collective::all_reduce(DType::f32, 1), &next_a);  // rank 1 has not waited for the first round
  c[1]->wait(0, in(10s));
  EXPECT_EQ(b, 3.0f);
  c[1]->start(0, Collective::all_reduce(DType::f32, 1), &next_b);
  c[0]->progress();
  c[1]->wait(0, in(10s));
  c[0]->wait(0, in(10s));
  EXPECT_EQ(next_a, 30.0f);
  EXPECT_EQ(next_b, 30.0f);
}

TEST(LocalGroup, TakesWaitsInAnyOrder) {
  expect_no_errors(on_every_rank(3, 3, [](Communicator& c) {
    for (int step = 0; step < 20; ++step) {
      float data[3] = {1, 10, 100};
      for (int s = 0; s < 3; ++s) c.start(s, Collective::all_reduce(DType::f32, 1), &data[s]);
      for (int s : {2, 0, 1}) c.wait(s, in(60s));
      EXPECT_EQ(data[0], 3.0f);
      EXPECT_EQ(data[1], 30.0f);
      EXPECT_EQ(data[2], 300.0f);
    }
  }));
}

TEST(LocalGroup, SumsNothingInABucketOfNoElements) {
  expect_no_errors(on_every_rank(2, 1, [](Communicator& c) {
    c.start(0, Collective::all_reduce(DType::f32, 0), nullptr);
    c.wait(0, in(10s));
  }));
}

TEST(LocalGroup, TellsRankSlotAndHowManyHadStartedAtTheDeadline) {
  for (int round = 0; round < 2; ++round) {
    const auto begin = Clock::now();
    const auto errors = on_every_rank(3, 2, [&](Communicator& c) {
      float data[2] = {1, 1};
      for (int i = 0; i < round; ++i) {  // a successful round does not change the message
        c.start(1, Collective::all_reduce(DType::f32, 1), data);
        c.wait(1, in(10s));
      }
      if (c.rank() == 2) return;  // never arrives
      c.start(1, Collective::all_reduce(DType::f32, 1), data);
      c.wait(1, in(150ms));
    });
    EXPECT_EQ(errors[0], "comm: all_reduce 1: rank 0 of 3 waited past the deadline; ranks that had started it: 2");
    EXPECT_EQ(errors[1], "comm: all_reduce 1: rank 1 of 3 waited past the deadline; ranks that had started it: 2");
    EXPECT_EQ(errors[2], "");
    EXPECT_LT(Clock::now() - begin, 5s);
  }
}

TEST(LocalGroup, WakesEveryRankWithTheReasonOfAnAbort) {
  const auto begin = Clock::now();
  const auto errors = on_every_rank(4, 1, [](Communicator& c) {
    if (c.rank() == 3) {
      std::this_thread::sleep_for(50ms);
      c.abort("a kernel failed");
      c.abort("a later reason that nobody hears");
      return;
    }
    float data = 1;
    c.start(0, Collective::all_reduce(DType::f32, 1), &data);
    c.wait(0, in(60s));
  });
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_EQ(errors[static_cast<size_t>(rank)], text("comm: rank ", rank, ": the group was aborted: a kernel failed"));
  EXPECT_LT(Clock::now() - begin, 20s);
}

TEST(LocalGroup, StartsNothingAfterAnAbort) {
  auto c = create_local_communicators(2, 1);
  c[0]->abort("no more");
  float data = 1;
  EXPECT_THROWS(Status::comm, "rank 1: the group was aborted: no more",
                (c[1]->start(0, Collective::all_reduce(DType::f32, 1), &data), 0));
  EXPECT_THROWS(Status::comm, "rank 0: the group was aborted: no more", (c[0]->wait(0, in(10s)), 0));
}

TEST(LocalGroup, RefusesCountsThatDifferBetweenRanks) {
  auto c = create_local_communicators(2, 1);
  float a[2] = {}, b[3] = {};
  c[0]->start(0, Collective::all_reduce(DType::f32, 2), a);
  EXPECT_THROWS(Status::internal, "collective 0: rank 1 starts all_reduce of 3 f32, others all_reduce of 2 f32",
                (c[1]->start(0, Collective::all_reduce(DType::f32, 3), b), 0));
}

TEST(Communicators, KnowTheirRankAndSize) {
  const auto c = create_local_communicators(3, 1);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(c[static_cast<size_t>(rank)]->rank(), rank);
    EXPECT_EQ(c[static_cast<size_t>(rank)]->size(), 3);
  }
}

}  // namespace
}  // namespace troika
