// Memory that the processes of a machine share.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/shared_memory.h"
#include "group/exchange.h"

namespace troika {

std::string pack(const SharedPlace& place);
SharedPlace unpack_place(const std::string& bytes);  // COMM

// Returns null if the memory cannot be had.
std::unique_ptr<SharedMemory> try_shared_memory(size_t bytes);

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

// Blocks of other processes, which are mapped as long as this lives.
class ForeignBlocks {
 public:
  // Returns the address in this process. Any thread. COMM.
  std::byte* address(int process, const SharedPlace& place);

 private:
  std::mutex mutex_;
  std::map<std::pair<int, int64_t>, std::unique_ptr<ForeignMemory>> blocks_;  // by process and block
};

}  // namespace troika
