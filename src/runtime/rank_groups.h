// One rank's ends of its groups, which a plan's collectives and messages use.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "comm/communicator.h"
#include "comm/messenger.h"
#include "plan/plan.h"

namespace troika {

class RankGroups {
 public:
  void set(RankGroup kind, std::unique_ptr<Communicator> end) { sums_[static_cast<size_t>(kind)] = std::move(end); }
  void set_pipeline(std::unique_ptr<Messenger> end) { pipeline_ = std::move(end); }

  // Null if the rank is alone in the group.
  Communicator* of(RankGroup kind) const { return sums_[static_cast<size_t>(kind)].get(); }
  Messenger* pipeline() const { return pipeline_.get(); }

  // Makes room for the plan's collectives and messages. To be called on the rank's thread, while no
  // rank of the groups runs.
  void reserve(const Plan& plan) const;
  // Does what the data group can do without waiting.
  void progress() const {
    if (Communicator* const data = of(RankGroup::data)) data->progress();
  }
  // COMM if a group of this rank cannot be used any more.
  void check() const {
    for (const auto& sums : sums_)
      if (sums) sums->progress();
  }
  // Makes the waits of every rank of these groups fail with `reason`. From any thread.
  void abort(const std::string& reason) const;

 private:
  std::array<std::unique_ptr<Communicator>, kSummingGroups> sums_;
  std::unique_ptr<Messenger> pipeline_;
};

}  // namespace troika
