// The ranks of the world that this process holds, each with its replica.
#pragma once

#include <memory>
#include <vector>

#include "plan/step_layout.h"
#include "train/context.h"
#include "train/replica.h"

namespace troika {

struct LocalRank {
  int rank;  // in the world
  std::unique_ptr<Replica> replica;
};

// The local ranks that compute a batch: all of them, or one alone.
struct ActiveRanks {
  std::vector<int> ranks;
  bool is_alone = false;
};

class LocalRanks {
 public:
  // Opens the devices of all ranks of the layout, in their order. `connects`: the ranks get the
  // ends of their groups.
  LocalRanks(const Context& context, const std::vector<DeviceId>& devices, const StepLayout& layout, bool connects,
             bool collects_trace);

  std::vector<LocalRank>::const_iterator begin() const { return ranks_.begin(); }
  std::vector<LocalRank>::const_iterator end() const { return ranks_.end(); }
  size_t size() const { return ranks_.size(); }
  Replica& first() const { return *ranks_.front().replica; }
  Replica& at(int rank) const;  // INTERNAL if another process holds the rank
  const ActiveRanks& all() const { return all_; }
  bool run_ahead() const;  // every replica does

 private:
  void connect(const Context& context, const std::vector<std::shared_ptr<Device>>& devices, const StepLayout& layout);

  std::vector<LocalRank> ranks_;
  ActiveRanks all_;
};

}  // namespace troika
