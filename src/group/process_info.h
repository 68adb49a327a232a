// Who the processes of a group are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troika {

struct ProcessInfo {
  std::string host;  // name of the machine
  int64_t pid = 0;
  int node = 0, local_rank = 0;  // nodes are numbered in the order of their first ranks
};

// By rank.
using Roster = std::vector<ProcessInfo>;

}  // namespace troika
