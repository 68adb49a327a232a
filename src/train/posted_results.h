// The results of a replica's runs, on their way to the host: of the last run and of the run before.
#pragma once

#include <memory>

#include "device/backend.h"
#include "runtime/rank_groups.h"
#include "train/run_arguments.h"

namespace troika {

class PostedResults {
 public:
  // Both must outlive it.
  PostedResults(Device& device, const RankGroups& groups) : device_(device), groups_(groups) {}

  // Makes room for the results of a plan. INTERNAL if results are on their way.
  void make_room(const Plan& plan);
  // Posts the results of a run, which has been passed to the device, and waits for those that the
  // run wants, if any. COMM at the deadline.
  void post(const Plan& plan, const Bases& bases, Results wants, Deadline deadline, RunResults& results);
  // Waits for the results that are on their way, if any. COMM at the deadline.
  void collect(Deadline deadline, RunResults& results);
  [[noreturn]] void throw_late() const;

 private:
  struct Posted {
    std::unique_ptr<Readback> readback;
    const Plan* plan = nullptr;  // null: no results are on their way
  };

  void take(Posted& posted, Deadline deadline, RunResults& results) const;
  void await(const Posted& posted, Deadline deadline) const;

  Device& device_;
  const RankGroups& groups_;
  Posted posted_[2];   // in turn
  size_t turn_ = 0;    // posted_[turn_] belongs to the last run
  size_t bytes_ = 0;   // capacity of each
};

}  // namespace troika
