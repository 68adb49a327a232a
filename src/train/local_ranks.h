// The ranks of the world that this process holds, each with its replica.
#pragma once

#include <memory>
#include <vector>

#include "plan/step_layout.h"
#include "train/context.h"
#include "train/replica.h"

namespace troika {

// The ranks of a world that this process holds, ascending, and their devices.
struct LocalDevices {
  // This process holds the whole world: rank i is on devices[i].
  LocalDevices(std::vector<DeviceId> all);
  LocalDevices(int world_size, std::vector<int> held, std::vector<DeviceId> of_held);

  int world_size;
  int threads = 0;               // of each CPU device; 0: its share of the context's
  bool runs_on_callers = false;  // on the threads that call, if the devices allow it
  std::vector<int> ranks;
  std::vector<DeviceId> devices;
};

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
  // Opens the devices. `connects`: the ranks get the ends of their groups.
  LocalRanks(const Context& context, const LocalDevices& local, const StepLayout& layout, bool connects,
             bool collects_trace);

  std::vector<LocalRank>::const_iterator begin() const { return ranks_.begin(); }
  std::vector<LocalRank>::const_iterator end() const { return ranks_.end(); }
  size_t size() const { return ranks_.size(); }
  Replica& first() const { return *ranks_.front().replica; }
  bool holds(int rank) const;
  Replica& at(int rank) const;  // UNSUPPORTED if another process holds the rank
  const ActiveRanks& all() const { return all_; }
  bool run_ahead() const;  // every replica does

 private:
  void connect(const Context& context, const std::vector<std::shared_ptr<Device>>& devices, const StepLayout& layout);
  const LocalRank* find(int rank) const;  // null: another process holds the rank

  std::vector<LocalRank> ranks_;
  ActiveRanks all_;
};

}  // namespace troika
