// Cores by sched_getaffinity.
#include "core/cpu_cores.h"

#include <sched.h>
#include <unistd.h>

namespace troika {

std::vector<int> allowed_cores() {
  std::vector<int> cores;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &set)) cores.push_back(core);
  // The system refuses if the machine has more cores than the set has room for.
  for (int core = 0; cores.empty() && core < sysconf(_SC_NPROCESSORS_ONLN); ++core) cores.push_back(core);
  if (cores.empty()) cores.push_back(0);
  return cores;
}

void pin_thread(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int core : cores) CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);
}

}  // namespace troika
