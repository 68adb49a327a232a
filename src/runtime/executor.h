// Walks a plan: launches, and collectives that run in the background.
#pragma once

#include <chrono>
#include <vector>

#include "comm/communicator.h"
#include "comm/messenger.h"
#include "plan/plan.h"

namespace troika {

// Where a replica's memory begins.
struct Bases {
  std::byte* arena = nullptr;
  std::byte* parameters = nullptr;
  std::byte* gradients = nullptr;
  std::byte* optimizer = nullptr;

  std::byte* address(const Location& location) const;
};

// Gives every kernel of the plan its addresses. Again whenever memory has moved.
void bind(Plan& plan, const Bases& bases);

// Records the launches between collectives, on a device that can. Behind a first run on the same addresses, in
// which kernels load what they need.
void record(Plan& plan, Device& device);

// When something began and ended, for traces.
struct TraceEvent {
  PlanStep step;
  std::chrono::steady_clock::time_point begin, end;
};

// This rank's ends of its groups; null where it is alone.
struct RankGroups {
  Communicator* data = nullptr;     // ranks with the same layers and channels: buckets of gradients
  Messenger* pipeline = nullptr;    // ranks with other layers: messages
  Communicator* channel = nullptr;  // ranks with other channels of the same layers: sums
  Communicator* model = nullptr;    // ranks that together hold the model once: sums
};

// Slots of the data group: all-reduces of buckets, all-gathers of buckets, and one for sums.
constexpr int data_slots(size_t buckets) { return static_cast<int>(2 * buckets) + 1; }

// Runs the plan on the calling thread, the device's worker. Events are appended
// to `trace` where given; reserve it for plan.steps.size() and nothing is allocated.
void execute(const Plan& plan, Device& device, const Bases& bases, const std::vector<BucketRange>& buckets,
             const RankGroups& groups, Deadline deadline, std::vector<TraceEvent>* trace);

}  // namespace troika
