// One rank's end of a group that computes together: collectives that run in the background, with a deadline.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/deadline.h"
#include "core/split.h"
#include "device/backend.h"

namespace troika {

// A rank calls from its own thread. Every rank starts the same slots in the same order.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Starts replacing data[0 .. count) by the sum over all ranks, with the same bits everywhere; added in pairs, then pairs of
  // pairs, (r0 + r1) + (r2 + r3), unless the group was made without need of a fixed order.
  // `slot` (0 .. slots - 1) names the operation until its wait; data must stay in place until then.
  virtual void start_all_reduce(int slot, float* data, int64_t count) = 0;

  // Starts giving every rank the pieces of data that each of the others owns, in place. `pieces` must stay as they are until
  // the wait, and be the same on all ranks. Slots as those of start_all_reduce.
  virtual void start_all_gather(int slot, std::byte* data, const std::vector<OwnedBytes>& pieces) = 0;

  // Starts replacing the piece of data that this rank owns by its sum over all ranks, added as by start_all_reduce. The other
  // pieces are read by their owners until the wait. `pieces` and slots as those of start_all_gather.
  virtual void start_reduce_scatter(int slot, float* data, const std::vector<OwnedBytes>& pieces) = 0;

  // Starts replacing the flag, 0 or 1, by 1 where it is 1 on every rank, else by 0. Slots as those of start_all_reduce.
  virtual void start_all_of(int slot, int32_t* flag) = 0;

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
  // One communicator a rank for devices of this one's kind, which may be the same several times. `needs_fixed_order`: sums
  // come in pairs, then pairs of pairs, also where that is not the fastest.
  virtual std::vector<std::unique_ptr<Communicator>> create_communicators(
      const std::vector<std::shared_ptr<Device>>& devices, int slots, bool needs_fixed_order) = 0;
};

}  // namespace troika
