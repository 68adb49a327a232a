// The CPU threads and cores of a process, and what each of its devices gets.
#pragma once

#include <vector>

#include "device/backend.h"

namespace troika {

struct CpuShare {
  int threads = 1;         // of all CPU devices of the process together
  std::vector<int> cores;  // for its devices; no other process of its group uses them

  // Returns the threads and cores of CPU device number `index`, if `count` devices are attached
  // together.
  DeviceShare of_device(int index, int count) const;
};

// The message of a process to the others of its machine.
struct CpuClaim {
  int threads = 0;         // that the host has set; 0: as many as the process gets cores
  std::vector<int> cores;  // on which the process may run
};

// Divides the cores of a machine among the processes that may run on them, and returns the share of
// process `own`. Processes that may run on the same cores get equally many, so that none waits for
// another that has fewer; a remainder stays free.
CpuShare divide_cores(const std::vector<CpuClaim>& processes, size_t own);

}  // namespace troika
