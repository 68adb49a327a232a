// One rank's end of a group that computes together: collectives that run in the background, with a
// deadline.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "comm/collective.h"
#include "core/deadline.h"

namespace troika {

// A rank calls from its own thread. Every rank starts the same slots in the same order.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Makes room for slots 0 .. slots - 1, so that starting a collective allocates nothing. No
  // collective of the group may be under way on any rank.
  virtual void reserve(int slots) = 0;

  // Starts a collective on this rank's data. `slot` names the operation until its wait; room for
  // the slot is reserved. The data stay in place until the wait. Sums have the same bits on every
  // rank. Unless the world needs no fixed order, sums are added in pairs, then pairs of pairs: (r0
  // + r1) + (r2 + r3). In a reduce_scatter the owners read the other ranks' pieces until the wait.
  virtual void start(int slot, const Collective& collective, void* data) = 0;

  // Does what can be done without waiting. To be called between launches.
  virtual void progress() = 0;

  // Returns when the slot's result is there. COMM at the deadline or after an abort, naming rank
  // and slot.
  virtual void wait(int slot, Deadline deadline) = 0;

  // Whether a collective ends without any further call of any rank, once all ranks have started it.
  virtual bool completes_alone() const { return false; }

  // Makes every rank's waits fail with `reason`. From any thread; the group cannot be used
  // afterwards.
  virtual void abort(const std::string& reason) = 0;

  // Returns when the result of a slot was there, after the slot's wait; none if only the device
  // knows. For traces.
  virtual std::optional<std::chrono::steady_clock::time_point> arrival(int slot) const {
    static_cast<void>(slot);
    return std::nullopt;
  }
};

}  // namespace troika
