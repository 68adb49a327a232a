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

  // Starts replacing data[0 .. count) by the sum over all ranks, added in pairs, then pairs of pairs, where the
  // library can choose: (r0 + r1) + (r2 + r3). The same bits everywhere.
  // `slot` (0 .. slots - 1) names the operation until its wait; data must stay in place until then.
  virtual void start_all_reduce(int slot, float* data, int64_t count) = 0;

  // Starts giving every rank the pieces of data that each of the others owns, in place. `pieces` must stay as they are until
  // the wait, and be the same on all ranks. Slots as those of start_all_reduce.
  virtual void start_all_gather(int slot, std::byte* data, const std::vector<OwnedBytes>& pieces);

  // Starts replacing the piece of data that this rank owns by its sum over all ranks, added as by start_all_reduce. The other
  // pieces are read by their owners until the wait. `pieces` and slots as those of start_all_gather.
  virtual void start_reduce_scatter(int slot, float* data, const std::vector<OwnedBytes>& pieces);

  // Does what can be done without waiting. Called between launches.
  virtual void progress() = 0;

  // Returns when the slot's result is there; COMM at the deadline or after an abort, naming rank and slot.
  virtual void wait(int slot, Deadline deadline) = 0;

  // Hands `bytes` to rank `to` as message `slot` (any number from 0, of this pair of ranks), which may be sent again when it has
  // been received. Data may change when the call returns, which waits for no receiver but of the same message sent before.
  // COMM at the deadline or after an abort.
  virtual void send(int to, int slot, const void* data, size_t bytes, Deadline deadline);
  // Makes room for message `slot` of rank `from`, so that sending it allocates nothing.
  virtual void reserve(int from, int slot, size_t bytes);
  // Waits for message `slot` of rank `from`.
  virtual void receive(int from, int slot, void* data, size_t bytes, Deadline deadline);

  // Makes every rank's waits fail with `reason`. From any thread; the group cannot be used afterwards.
  virtual void abort(const std::string& reason) = 0;
};

// A device that brings collectives of its own.
class CommunicatorFactory {
 public:
  virtual ~CommunicatorFactory() = default;
  // One communicator a rank for devices of this one's kind, which may be the same several times.
  virtual std::vector<std::unique_ptr<Communicator>> create_communicators(
      const std::vector<std::shared_ptr<Device>>& devices, int slots) = 0;
};

}  // namespace troika
