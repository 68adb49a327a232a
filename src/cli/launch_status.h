// The status file of a launcher, for `troika status`.
#pragma once

#include <memory>
#include <vector>

#include "cli/child_process.h"
#include "cli/launch_options.h"
#include "cli/node_status.h"

namespace troika::cli {

// Writes into the folder of logs, if there is one. Processes are in the order of the launcher.
class LaunchStatus {
 public:
  explicit LaunchStatus(const LaunchOptions& options) : options_(options) {}

  void begin_attempt(int attempt, const std::vector<std::unique_ptr<ChildProcess>>& processes);
  void note_end(int process, const ChildProcess& ended);

 private:
  void write() const;

  const LaunchOptions& options_;
  NodeStatus status_;
};

}  // namespace troika::cli
