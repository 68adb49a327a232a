// The job that `troika run` starts: the same program in several processes.
#pragma once

#include <string>
#include <vector>

namespace troika::cli {

constexpr int kMostProcesses = 4096;  // on a node

struct LaunchOptions {
  int processes = 1;  // on this node
  int nodes = 1, node = 0;
  std::string host;  // at which the processes meet; empty: this machine, at a free port for each attempt
  int port = 0;
  int restarts = 0;
  double grace = 10;  // seconds between SIGTERM and SIGKILL, if another process has failed
  int threads = 0;    // of each process; 0: its share of the cores
  std::string log_folder;
  std::vector<std::string> program;  // with its arguments

  int size() const { return processes * nodes; }
  int rank(int process) const { return processes * node + process; }
};

}  // namespace troika::cli
