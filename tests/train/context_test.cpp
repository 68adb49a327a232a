// Tests of the context: the distribution of the processor's threads and cores over devices.
#include "train/context.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/cpu_cores.h"

namespace troika {
namespace {

ContextOptions with_threads(int threads) {
  ContextOptions options;
  options.cpu_threads = threads;
  return options;
}

int cores() { return static_cast<int>(allowed_cores().size()); }

TEST(CpuShare, GivesEveryThreadToOneDevice) {
  for (int threads : {1, 2, 7, 64}) EXPECT_EQ(Context(with_threads(threads)).cpus().of_device(0, 1).threads, threads);
  EXPECT_EQ(Context({}).cpus().of_device(0, 1).threads, cores());
}

TEST(CpuShare, SumsUpAndGivesEachDeviceAtLeastOneThread) {
  for (int threads : {1, 2, 3, 4, 7, 8, 30})
    for (int count : {1, 2, 3, 4, 8}) {
      const Context context(with_threads(threads));
      int sum = 0, least = INT32_MAX, most = 0;
      for (int i = 0; i < count; ++i) {
        const int share = context.cpus().of_device(i, count).threads;
        sum += share;
        least = std::min(least, share);
        most = std::max(most, share);
      }
      EXPECT_EQ(sum, std::max(threads, count)) << threads << " threads over " << count;
      EXPECT_GE(least, 1);
      EXPECT_LE(most - least, 1);
    }
}

TEST(CpuShare, PinsDevicesToCoresOfTheirOwnOrNotAtAll) {
  for (int threads = 1; threads <= cores() + 2; ++threads)
    for (int count : {1, 2, 3, 8}) {
      const Context context(with_threads(threads));
      std::set<int> seen;
      size_t pinned = 0;
      for (int i = 0; i < count; ++i) {
        const DeviceShare share = context.cpus().of_device(i, count);
        EXPECT_TRUE(share.cores.empty() || static_cast<int>(share.cores.size()) == share.threads);
        pinned += share.cores.size();
        seen.insert(share.cores.begin(), share.cores.end());
      }
      EXPECT_EQ(seen.size(), pinned) << "no core twice";
      EXPECT_EQ(pinned, count > 1 && count <= threads && threads <= cores() ? static_cast<size_t>(threads) : 0u)
          << threads << " threads over " << count;
    }
}

TEST(Context, KeepsItsSeedAndLog) {
  std::string line;
  ContextOptions options;
  options.seed = 42;
  options.log = [&](LogLevel, const char*, const char* text) { line = text; };
  const Context context(std::move(options));
  EXPECT_EQ(context.seed(), 42u);
  context.log().write(LogTopic::train, LogLevel::info, "quiet");
  EXPECT_EQ(line, "");
  context.log().write(LogTopic::train, LogLevel::warning, "heard");
  EXPECT_EQ(line, "heard");
}

}  // namespace
}  // namespace troika
