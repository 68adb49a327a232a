// The processes of a machine that can map each other's memory.
#pragma once

#include <vector>

#include "group/exchange.h"

namespace troika {

class MachineMemory {
 public:
  // Finds out which processes can map each other's memory. `nodes`: by process, its machine.
  // Collective. COMM.
  MachineMemory(Exchange& exchange, std::vector<int> nodes, Deadline deadline);

  // Whether each of the processes can map the memory of all others: the same answer in all.
  bool reaches(const std::vector<int>& processes) const;

 private:
  const std::vector<int> nodes_;
  std::vector<bool> reach_their_machine_;  // by process
};

}  // namespace troika
