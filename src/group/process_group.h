// The processes of a job, which train together.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "core/log.h"
#include "group/exchange.h"
#include "group/group_options.h"
#include "group/secret.h"

namespace troika {

class Hub;

// Any thread may call it.
class ProcessGroup {
 public:
  // Returns when all processes have joined. INVALID_ARGUMENT naming the option, COMM naming the
  // ranks that have not joined, UNSUPPORTED for several processes on Windows. `log` must outlive
  // the group.
  ProcessGroup(const GroupOptions& options, const Log& log);
  ~ProcessGroup();

  int rank() const { return options_.rank; }
  int size() const { return options_.size; }
  const ProcessInfo& process(int rank) const { return roster_[static_cast<size_t>(rank)]; }
  const ProcessInfo& own() const { return process(rank()); }
  int nodes() const { return nodes_; }
  int processes_of_node(int node) const {
    return static_cast<int>(std::ranges::count(roster_, node, &ProcessInfo::node));
  }
  const GroupOptions& options() const { return options_; }

  // All processes create their exchanges in the same order.
  std::unique_ptr<Exchange> create_exchange() const { return std::make_unique<Exchange>(member_, rank(), size()); }

 private:
  const GroupOptions options_;
  const Secret secret_;
  std::unique_ptr<Hub> hub_;  // of rank 0
  std::shared_ptr<Member> member_;
  Roster roster_;
  int nodes_ = 1;
};

}  // namespace troika
