// The processes that a launcher has started on its machine, as its file in a status folder holds
// them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/rank_status.h"

namespace troika::cli {

std::filesystem::path node_status_file(const std::filesystem::path& of, int node);

struct LaunchedProcess {
  int rank = 0;
  ProcessName process;
  bool has_ended = false;
  int exit_status = 0, signal = 0;  // signal: that ended it; 0: none
};

struct NodeStatus {
  int processes = 1;  // of all nodes
  int attempt = 0;
  double began = 0;  // this attempt, in seconds since 1970
  std::vector<LaunchedProcess> launched;
};

std::string print_status(const NodeStatus& status);

// Throws Failure for a file that is no status of a launcher.
NodeStatus read_node_status(const std::filesystem::path& file);

}  // namespace troika::cli
