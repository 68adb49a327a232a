// Dividing cores.
#include "train/cpu_share.h"

#include <algorithm>
#include <map>

#include "core/split.h"

namespace troika {

DeviceShare CpuShare::of_device(int index, int count) const {
  DeviceShare share;
  const Range range = balanced_split(threads, count, index);
  share.threads = std::max<int>(1, static_cast<int>(range.size()));
  // Workers are pinned only if several devices share the cores, and each device has cores of its
  // own.
  if (count > 1 && count <= threads && threads <= static_cast<int>(cores.size()))
    for (int64_t i = range.begin; i < range.end; ++i) share.cores.push_back(cores[static_cast<size_t>(i)]);
  return share;
}

CpuShare divide_cores(const std::vector<CpuClaim>& processes, size_t own) {
  std::map<int, std::vector<size_t>> users;  // by core: the processes that may run on it
  for (size_t process = 0; process < processes.size(); ++process)
    for (int core : processes[process].cores) users[core].push_back(process);
  std::map<std::vector<size_t>, std::vector<int>> pools;  // cores with the same users
  for (const auto& [core, processes_of_core] : users) pools[processes_of_core].push_back(core);

  CpuShare share;
  for (const auto& [members, cores] : pools) {
    const auto found = std::find(members.begin(), members.end(), own);
    if (found == members.end()) continue;
    const auto count = static_cast<ptrdiff_t>(cores.size() / members.size());
    const auto first = cores.begin() + count * (found - members.begin());
    share.cores.insert(share.cores.end(), first, first + count);
  }
  std::sort(share.cores.begin(), share.cores.end());
  const int wish = processes[own].threads;
  share.threads = wish > 0 ? wish : std::max(1, static_cast<int>(share.cores.size()));
  return share;
}

}  // namespace troika
