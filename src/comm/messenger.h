// One rank's end of a group whose ranks send each other messages, with a deadline.
#pragma once

#include <cstddef>
#include <string>

#include "core/deadline.h"

namespace troika {

// A rank calls from its own thread: after the launches that made what it sends, and before those
// that read what it receives.
class Messenger {
 public:
  virtual ~Messenger() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Makes room for message `slot` of rank `from`, so that sending the message allocates nothing. A
  // slot is any number from 0 on, of this pair of ranks. No message may be on its way.
  virtual void reserve(int from, int slot, size_t bytes) = 0;
  // Passes `bytes` to rank `to` as message `slot`, which may be sent again when it has been
  // received. Launches that follow may change the data. Waits only for the receiver of the same
  // message that was sent before. COMM at the deadline or after an abort.
  virtual void send(int to, int slot, const void* data, size_t bytes, Deadline deadline) = 0;
  // Waits for message `slot` of rank `from`, which launches that follow find in `data`.
  virtual void receive(int from, int slot, void* data, size_t bytes, Deadline deadline) = 0;

  // Makes every rank's waits fail with `reason`. From any thread; the group cannot be used
  // afterwards.
  virtual void abort(const std::string& reason) = 0;
};

}  // namespace troika
