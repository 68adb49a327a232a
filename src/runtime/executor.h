// Walks a plan: launches, and collectives that run in the background.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "plan/plan.h"
#include "runtime/rank_groups.h"

namespace troika {

// The addresses at which a replica's memory begins.
struct Bases {
  std::byte* arena = nullptr;
  std::byte* parameters = nullptr;
  std::byte* gradients = nullptr;
  std::byte* optimizer = nullptr;
  std::byte* copies = nullptr;

  std::byte* address(const Location& location) const;
};

// Passes every kernel of the plan its addresses. To be called again whenever memory has moved.
void bind(Plan& plan, const Bases& bases);

// Records the launches between collectives, on a device that can record. To be called after a first
// run on the same addresses, in which kernels load what they need.
void record(Plan& plan, Device& device);

// When a step began and ended, for traces. `arrival`: when the result of a wait was there, perhaps
// long before the wait. For other steps, and if only the device knows: the end.
struct TraceEvent {
  PlanStep step;
  std::chrono::steady_clock::time_point begin, end, arrival;
};

// The events of a run. With a clock, all events have the device's own times: a wait for other ranks
// is the time that the device's launches wait for them.
struct Trace {
  std::vector<TraceEvent> events;
  std::unique_ptr<LaunchClock> clock;  // null: the host's times
  size_t timed_steps = 0;              // that the clock has room for

  // Makes room for a run of the plan. With a device, takes that device's clock if it has one.
  void make_room(const Plan& plan, Device* device);
};

// The steps of a plan that a run takes.
enum class Piece {
  all,
  forward,         // up to the pause
  backward,        // from the pause on
  without_update,  // all except the late update
  update,          // the late update alone
};

// Waits for all sums that the late update reads. COMM.
void wait_for_late_sums(const Plan& plan, const RankGroups& groups, Deadline deadline);

// Runs the plan on the calling thread, the device's worker. Appends events to `trace` unless it is
// null; nothing is allocated if `trace` has no clock and room for plan.steps.size() events.
// `has_copies`: the copies of parameters are there. Returns the time that the thread waited for
// other ranks.
std::chrono::steady_clock::duration execute(const Plan& plan, Device& device, const Bases& bases,
                                            const std::vector<BucketRange>& buckets, const RankGroups& groups,
                                            Deadline deadline, Trace* trace, Piece piece = Piece::all,
                                            bool has_copies = false);

}  // namespace troika
