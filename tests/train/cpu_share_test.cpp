// Tests of the division of a machine's cores among processes.
#include "train/cpu_share.h"

#include <gtest/gtest.h>

#include <numeric>

namespace troika {
namespace {

std::vector<int> cores(int first, int count) {
  std::vector<int> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

TEST(CpuShares, AreAllCoresOfAProcessThatIsAlone) {
  const CpuShare share = divide_cores({{0, cores(2, 4)}}, 0);
  EXPECT_EQ(share.threads, 4);
  EXPECT_EQ(share.cores, cores(2, 4));
}

TEST(CpuShares, OfSeveralProcessesAreEqualAndApart) {
  const std::vector<CpuClaim> claims(3, {0, cores(0, 8)});
  for (size_t process = 0; process < 3; ++process) {
    const CpuShare share = divide_cores(claims, process);
    EXPECT_EQ(share.threads, 2);
    EXPECT_EQ(share.cores, cores(2 * static_cast<int>(process), 2));
  }
}

TEST(CpuShares, AreOneThreadIfThereAreMoreProcessesThanCores) {
  const std::vector<CpuClaim> claims(3, {0, cores(0, 2)});
  for (size_t process = 0; process < 3; ++process) {
    const CpuShare share = divide_cores(claims, process);
    EXPECT_EQ(share.threads, 1);
    EXPECT_TRUE(share.cores.empty());
  }
}

// A launcher may have bound each process to cores of its own.
TEST(CpuShares, OfBoundProcessesAreTheirOwnCores) {
  const std::vector<CpuClaim> claims = {{0, cores(0, 2)}, {0, cores(2, 2)}};
  EXPECT_EQ(divide_cores(claims, 0).cores, cores(0, 2));
  EXPECT_EQ(divide_cores(claims, 1).cores, cores(2, 2));
  EXPECT_EQ(divide_cores(claims, 1).threads, 2);
}

// Two processes are bound to each half of a machine.
TEST(CpuShares, AreOfTheCoresThatProcessesShare) {
  const std::vector<CpuClaim> claims = {{0, cores(0, 4)}, {0, cores(4, 4)}, {0, cores(0, 4)}, {0, cores(4, 4)}};
  EXPECT_EQ(divide_cores(claims, 0).cores, cores(0, 2));
  EXPECT_EQ(divide_cores(claims, 1).cores, cores(4, 2));
  EXPECT_EQ(divide_cores(claims, 2).cores, cores(2, 2));
  EXPECT_EQ(divide_cores(claims, 3).cores, cores(6, 2));
}

TEST(CpuShares, HaveTheThreadsThatTheHostHasSet) {
  const std::vector<CpuClaim> claims = {{3, cores(0, 4)}, {0, cores(0, 4)}};
  EXPECT_EQ(divide_cores(claims, 0).threads, 3);
  EXPECT_EQ(divide_cores(claims, 1).threads, 2);
}

// Two devices of each process.
TEST(CpuShares, PinDevicesOfProcessesToDifferentCores) {
  const std::vector<CpuClaim> claims(2, {2, cores(0, 4)});
  for (int process = 0; process < 2; ++process)
    for (int device = 0; device < 2; ++device)
      EXPECT_EQ(divide_cores(claims, static_cast<size_t>(process)).of_device(device, 2).cores,
                cores(2 * process + device, 1));
}

TEST(CpuShares, PinNoDeviceIfThreadsAreMoreThanCores) {
  const std::vector<CpuClaim> claims(2, {4, cores(0, 4)});
  EXPECT_TRUE(divide_cores(claims, 1).of_device(0, 2).cores.empty());
}

}  // namespace
}  // namespace troika
