// Tests of what processes agree on when they attach a model. They are threads of one program.
#include "train/world.h"

#include <gtest/gtest.h>

#include <set>

#include "core/cpu_cores.h"
#include "group/processes.h"
#include "models/zoo.h"
#include "support/test_context.h"

namespace troika {
namespace {

constexpr int kProcesses = 2;

// Returns what each process gets, if its host has set so many threads.
std::vector<CpuShare> shares_of(const std::vector<int>& threads, bool is_one_machine) {
  const TempDirectory folder;
  std::vector<GroupOptions> options = group_options(kProcesses, folder);
  for (GroupOptions& o : options) o.node = is_one_machine ? 0 : o.rank;
  const auto groups = join_group(options);
  std::vector<CpuShare> shares(kProcesses);
  on_every_process(kProcesses, [&](int rank) {
    const auto index = static_cast<size_t>(rank);
    ContextOptions context_options = test_context_options();
    context_options.cpu_threads = threads[index];
    context_options.backends.plugin_folder = TROIKA_PLUGIN_FOLDER;
    const Context context(std::move(context_options));
    const auto model = create_model("mlp", {});
    const LocalDevices local = join_world(context, *groups[index], *model, {{DeviceKind::cpu, 0}}, {});
    shares[index] = local.cpus.value();
  });
  return shares;
}

int count_cores() { return static_cast<int>(allowed_cores().size()); }

TEST(JoinedProcesses, DivideTheCoresOfTheirMachine) {
  const auto shares = shares_of({0, 0}, true);
  std::set<int> used;
  for (const CpuShare& share : shares) {
    EXPECT_EQ(share.threads, std::max(1, count_cores() / kProcesses));
    for (int core : share.cores) EXPECT_TRUE(used.insert(core).second) << "core " << core << " is used twice";
  }
}

TEST(JoinedProcesses, OfDifferentMachinesHaveAllCores) {
  for (const CpuShare& share : shares_of({0, 0}, false)) EXPECT_EQ(share.threads, count_cores());
}

TEST(JoinedProcesses, KeepTheThreadsThatTheirHostsHaveSet) {
  const auto shares = shares_of({5, 1}, true);
  EXPECT_EQ(shares[0].threads, 5);
  EXPECT_EQ(shares[1].threads, 1);
}

}  // namespace
}  // namespace troika
