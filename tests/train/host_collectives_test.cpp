// Collectives of the caller's own data, between processes as threads of one process.
#include "train/host_collectives.h"

#include <gtest/gtest.h>

#include <random>

#include "core/float16.h"
#include "core/text.h"
#include "group/processes.h"
#include "support/test_seed.h"
#include "support/throws.h"

namespace troika {
namespace {

using Collectives = std::vector<std::unique_ptr<HostCollectives>>;

class HostCollectivesTest : public testing::TestWithParam<int> {
 protected:
  std::vector<GroupOptions> options_of(int size) const { return group_options(size, folder_); }
  void join(int size) { join(options_of(size)); }
  void join(const std::vector<GroupOptions>& options) {
    groups_ = join_group(options);
    for (const auto& group : groups_)
      collectives_.push_back(std::make_unique<HostCollectives>(*group, TROIKA_PLUGIN_FOLDER));
  }
  ~HostCollectivesTest() override {  // the ends of a link wait for each other
    on_every_process(size(), [&](int rank) { collectives_[static_cast<size_t>(rank)].reset(); });
  }
  int size() const { return static_cast<int>(groups_.size()); }
  HostCollectives& of(int rank) { return *collectives_[static_cast<size_t>(rank)]; }

  // Returns random numbers of each process.
  std::vector<std::vector<float>> random_numbers(size_t count) {
    std::mt19937 engine(test_seed());
    std::normal_distribution<float> normal;
    std::vector<std::vector<float>> numbers(static_cast<size_t>(size()), std::vector<float>(count));
    for (auto& own : numbers)
      for (float& number : own) number = normal(engine);
    return numbers;
  }

 private:
  TempDirectory folder_;
  std::vector<std::shared_ptr<ProcessGroup>> groups_;
  Collectives collectives_;
};

class SeveralHostCollectives : public HostCollectivesTest {};

// The order of sums within one process: pairs, then pairs of pairs.
float pairwise_sum(const std::vector<std::vector<float>>& numbers, size_t first, size_t count, size_t at) {
  if (count == 1) return numbers[first][at];
  size_t half = 1;
  while (2 * half < count) half *= 2;
  return pairwise_sum(numbers, first, half, at) + pairwise_sum(numbers, first + half, count - half, at);
}

TEST_P(HostCollectivesTest, SumToTheBitsOfThreads) {
  join(GetParam());
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{7, 13}, Shape{3, 20'011}, Shape{0, 5}}) {
    const auto count = static_cast<size_t>(shape.elements());
    const std::vector<std::vector<float>> given = random_numbers(count);
    std::vector<std::vector<float>> sums = given;
    on_every_process(size(), [&](int rank) {
      of(rank).all_reduce({DType::f32, shape}, sums[static_cast<size_t>(rank)].data());
    });
    for (size_t i = 0; i < count; ++i)
      ASSERT_EQ(sums[0][i], pairwise_sum(given, 0, given.size(), i)) << to_string(shape) << " at " << i;
    for (const auto& other : sums) EXPECT_EQ(other, sums[0]);
  }
}

TEST_P(HostCollectivesTest, SumWholeNumbersExactly) {
  join(GetParam());
  std::vector<std::vector<int64_t>> wide(static_cast<size_t>(size()));
  std::vector<std::vector<double>> real(wide.size());
  for (size_t rank = 0; rank < wide.size(); ++rank)
    for (int64_t i = 0; i < 101; ++i) {
      wide[rank].push_back((int64_t{1} << 53) + i * static_cast<int64_t>(rank + 1));
      real[rank].push_back(static_cast<double>(i) + static_cast<double>(rank) * 0.5);
    }
  on_every_process(size(), [&](int rank) {
    of(rank).all_reduce({DType::i64, {101}}, wide[static_cast<size_t>(rank)].data());
    of(rank).all_reduce({DType::f64, {101}}, real[static_cast<size_t>(rank)].data());
  });
  const int64_t n = size();
  for (int64_t i = 0; i < 101; ++i) {
    ASSERT_EQ(wide.back()[static_cast<size_t>(i)], n * (int64_t{1} << 53) + i * n * (n + 1) / 2);
    ASSERT_EQ(real.back()[static_cast<size_t>(i)],
              static_cast<double>(n * i) + 0.25 * static_cast<double>(n * (n - 1)));
  }
}

// A sum of 16-bit numbers is rounded once: every process adds 1, which each alone is too small to
// change 256 in bf16.
TEST_P(HostCollectivesTest, RoundSumsOfSmallTypesOnce) {
  join(GetParam());
  const auto n = static_cast<float>(size());
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const auto to_bits = dtype == DType::bf16 ? bf16_of_float : f16_of_float;
    std::vector<std::vector<uint16_t>> data(static_cast<size_t>(size()), std::vector<uint16_t>(5, to_bits(1)));
    data[0].assign(5, to_bits(256));
    on_every_process(size(), [&](int rank) {
      of(rank).all_reduce({dtype, {5}}, data[static_cast<size_t>(rank)].data());
    });
    for (const auto& own : data) EXPECT_EQ(own, std::vector<uint16_t>(5, to_bits(255 + n)));
  }
}

TEST_P(HostCollectivesTest, BroadcastFromAnyProcess) {
  join(GetParam());
  for (int root = 0; root < size(); ++root) {
    std::vector<std::vector<float>> data = random_numbers(1009);
    const std::vector<float> expected = data[static_cast<size_t>(root)];
    on_every_process(size(), [&](int rank) {
      of(rank).broadcast(root, {DType::f32, {1009}}, data[static_cast<size_t>(rank)].data());
    });
    for (const auto& own : data) EXPECT_EQ(own, expected);
  }
}

// Process r has 2 r rows, so process 0 has none.
TEST_P(HostCollectivesTest, GatherRowsOfDifferentNumbers) {
  join(GetParam());
  std::vector<int32_t> expected;
  for (int rank = 0; rank < size(); ++rank) expected.insert(expected.end(), static_cast<size_t>(6 * rank), rank);
  on_every_process(size(), [&](int rank) {
    const std::vector<int32_t> own(static_cast<size_t>(6 * rank), rank);
    Shape shape;
    const std::vector<std::byte> all = of(rank).all_gather({DType::i32, {2 * rank, 3}}, own.data(), shape);
    EXPECT_EQ(shape, (Shape{static_cast<int64_t>(expected.size()) / 3, 3}));
    ASSERT_EQ(all.size(), expected.size() * sizeof(int32_t));
    const auto* const rows = reinterpret_cast<const int32_t*>(all.data());
    EXPECT_EQ(std::vector<int32_t>(rows, rows + expected.size()), expected);
  });
}

TEST_P(HostCollectivesTest, ScatterSums) {
  join(GetParam());
  constexpr int64_t kRows = 11, kWidth = 6;
  const std::vector<std::vector<float>> given = random_numbers(kRows * kWidth);
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
    on_every_process(size(), [&](int rank) {
      const std::vector<float>& own = given[static_cast<size_t>(rank)];
      std::vector<uint16_t> narrow(own.size());
      std::vector<double> wide(own.begin(), own.end());
      for (size_t i = 0; i < own.size(); ++i) narrow[i] = bf16_of_float(own[i]);
      const void* const data = dtype == DType::f32    ? static_cast<const void*>(own.data())
                               : dtype == DType::bf16 ? static_cast<const void*>(narrow.data())
                                                      : static_cast<const void*>(wide.data());
      Shape shape;
      const std::vector<std::byte> part = of(rank).reduce_scatter({dtype, {kRows, kWidth}}, data, shape);
      const Range rows = balanced_split(kRows, size(), rank);
      ASSERT_EQ(shape, (Shape{rows.size(), kWidth}));
      for (int64_t i = 0; i < rows.size() * kWidth; ++i) {
        double expected = 0;
        for (const auto& one : given)
          expected += static_cast<double>(one[static_cast<size_t>(rows.begin * kWidth + i)]);
        double found = 0;
        if (dtype == DType::f32) found = static_cast<double>(reinterpret_cast<const float*>(part.data())[i]);
        if (dtype == DType::f64) found = reinterpret_cast<const double*>(part.data())[i];
        if (dtype == DType::bf16)
          found = static_cast<double>(float_of_bf16(reinterpret_cast<const uint16_t*>(part.data())[i]));
        ASSERT_NEAR(found, expected, dtype == DType::bf16 ? 0.05 * size() : 1e-5)
            << static_cast<int>(dtype) << " at " << i;
      }
    });
  }
}

// Two processes send first, while the others begin with a barrier.
TEST_P(SeveralHostCollectives, ConnectInAnyFirstCall) {
  join(GetParam());
  on_every_process(size(), [&](int rank) {
    float number = 7;
    if (rank == 1) of(1).send(0, {DType::f32, {}}, &number);
    of(rank).barrier();
    number = 0;
    if (rank == 0) of(0).receive(1, {DType::f32, {}}, &number);
    EXPECT_EQ(number, rank == 0 ? 7 : 0);
  });
}

// Around a ring: each process sends before it receives.
TEST_P(SeveralHostCollectives, SendMessagesInOrder) {
  join(GetParam());
  on_every_process(size(), [&](int rank) {
    const int next = (rank + 1) % size(), previous = (rank + size() - 1) % size();
    for (int round = 0; round < 3; ++round) {
      const std::vector<int32_t> data(static_cast<size_t>(1 + 1000 * round), 10 * rank + round);
      std::vector<int32_t> received(data.size(), -1);
      const TensorType type{DType::i32, {static_cast<int64_t>(data.size())}};
      of(rank).send(next, type, data.data());
      of(rank).receive(previous, type, received.data());
      EXPECT_EQ(received, std::vector<int32_t>(data.size(), 10 * previous + round));
    }
  });
}

TEST_P(SeveralHostCollectives, RefuseDataThatDoNotFit) {
  join(GetParam());
  const int last = size() - 1;
  on_every_process(size(), [&](int rank) {
    std::vector<float> data(12, 1);
    const std::string of_last = "rank " + std::to_string(last);
    EXPECT_THROWS(Status::mismatch, "all_reduce: the tensor of " + of_last + " is f32[3, 4], that of rank 0 is f32[12]",
                  of(rank).all_reduce({DType::f32, rank == last ? Shape{3, 4} : Shape{12}}, data.data()));
    EXPECT_THROWS(Status::mismatch, "broadcast: root is 1 in " + of_last + ", and 0 in rank 0",
                  of(rank).broadcast(rank == last ? 1 : 0, {DType::f32, {12}}, data.data()));
    Shape shape;
    EXPECT_THROWS(Status::mismatch, "only axis 0 may differ",
                  of(rank).all_gather({DType::f32, rank == last ? Shape{3, 4} : Shape{4, 3}}, data.data(), shape));
    EXPECT_THROWS(Status::unsupported, "all_reduce: the tensor is u8",
                  of(rank).all_reduce({DType::u8, {12}}, data.data()));
    EXPECT_THROWS(Status::invalid_argument, "broadcast: root is " + std::to_string(size()),
                  of(rank).broadcast(size(), {DType::f32, {12}}, data.data()));
    EXPECT_THROWS(Status::invalid_argument, "this process itself",
                  of(rank).send(rank, {DType::f32, {12}}, data.data()));
    // A message that does not fit is lost, and the next one arrives.
    if (rank == 0) {
      of(0).send(last, {DType::f32, {12}}, data.data());
      of(0).send(last, {DType::f32, {12}}, data.data());
    } else if (rank == last) {
      std::vector<float> received(13, -1);
      EXPECT_THROWS(Status::mismatch, "rank 0 has sent f32[12], the tensor is f32[13]",
                    of(last).receive(0, {DType::f32, {13}}, received.data()));
      EXPECT_EQ(received, std::vector<float>(13, -1));
      of(last).receive(0, {DType::f32, {12}}, received.data());
      EXPECT_EQ(received[11], 1);
    }
    of(rank).all_reduce({DType::f32, {12}}, data.data());  // the group works
    EXPECT_EQ(data[3], static_cast<float>(size()));
  });
}

TEST_P(SeveralHostCollectives, RefuseOtherTransports) {
  std::vector<GroupOptions> options = options_of(GetParam());
  options.back().transport = "mpi";
  join(options);
  on_every_process(size(), [&](int rank) {
    EXPECT_THROWS(Status::comm, text("transport of rank ", size() - 1, " is 'mpi', rank 0 has 'not set'"),
                  of(rank).barrier());
  });
}

TEST_P(SeveralHostCollectives, EndWhenAProcessMakesAnotherCall) {
  join(GetParam());
  on_every_process(size(), [&](int rank) {
    std::vector<float> data(3, 1);
    if (rank == 0)
      EXPECT_THROWS(Status::comm, "calls", of(0).barrier());
    else
      EXPECT_THROWS(Status::comm, "calls", of(rank).all_reduce({DType::f32, {3}}, data.data()));
    EXPECT_THROWS(Status::comm, "calls", of(rank).barrier());
  });
}

std::string name_of(const testing::TestParamInfo<int>& info) { return "of_" + std::to_string(info.param); }
INSTANTIATE_TEST_SUITE_P(Processes, HostCollectivesTest, testing::Values(1, 2, 3, 5), name_of);
INSTANTIATE_TEST_SUITE_P(Processes, SeveralHostCollectives, testing::Values(2, 3, 5), name_of);

}  // namespace
}  // namespace troika
