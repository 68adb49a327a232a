// One rank's end of a group that computes together: collectives that run in the background, with a deadline.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "comm/collective.h"
#include "core/deadline.h"
#include "device/backend.h"

namespace troika {

// A rank calls from its own thread. Every rank starts the same slots in the same order.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Starts a collective on this rank's data. `slot` (0 .. slots - 1) names the operation until its wait; data must stay in
  // place until then. Sums have the same bits on every rank: added in pairs, then pairs of pairs, (r0 + r1) + (r2 + r3), unless
  // the group was made without need of a fixed order. In a reduce_scatter the owners read the other pieces until the wait.
  virtual void start(int slot, const Collective& collective, void* data) = 0;

  // Does what can be done without waiting. Called between launches.
  virtual void progress() = 0;

  // Returns when the slot's result is there; COMM at the deadline or after an abort, naming rank and slot.
  virtual void wait(int slot, Deadline deadline) = 0;

  // Makes every rank's waits fail with `reason`. From any thread; the group cannot be used afterwards.
  virtual void abort(const std::string& reason) = 0;
};

// A device that brings collectives of its own.
class CommunicatorFactory {
 public:
  virtual ~CommunicatorFactory() = default;
  // Returns one communicator per rank. All devices are of this kind; one device may appear more
  // than once. `needs_fixed_order`: sums come in pairs, then pairs of pairs, even if another order is
  // faster.
  virtual std::vector<std::unique_ptr<Communicator>> create_communicators(
      const std::vector<std::shared_ptr<Device>>& devices, int slots, bool needs_fixed_order) = 0;
};

}  // namespace troika
