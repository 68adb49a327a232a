// A link carries messages between the memories of the processes of a group: Gloo, or MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "group/bootstrap.h"
#include "group/exchange.h"

namespace troika {

// A range of host memory, whose bytes are sent to one process, or received from one. Operations of
// a buffer end in the order in which they begin. One thread uses a buffer at a time.
class LinkBuffer {
 public:
  virtual ~LinkBuffer() = default;
  // Begin to pass `bytes` from `offset` on. The data stay in place until the wait. A message goes
  // to the buffer of the other process that receives with the same tag; both name the same number
  // of bytes.
  virtual void send(uint64_t tag, size_t offset, size_t bytes) = 0;
  virtual void receive(uint64_t tag, size_t offset, size_t bytes) = 0;
  // Wait for the oldest operation that has not been waited for. Return false at the deadline, after
  // which the link cannot be used. COMM if the link is aborted, or the process is lost.
  virtual bool wait_sent(Deadline deadline = Deadline::max()) = 0;
  virtual bool wait_received(Deadline deadline = Deadline::max()) = 0;
};

class Link {
 public:
  virtual ~Link() = default;
  // The buffer must end before the link.
  virtual std::unique_ptr<LinkBuffer> create_buffer(int process, void* data, size_t bytes) = 0;
  // Makes all waits fail with `reason`. Any thread. The link cannot be used afterwards.
  virtual void abort(const std::string& reason) = 0;
};

struct LinkSettings {
  std::string interface;  // name or address; empty: loopback
  Deadline deadline;      // for connecting
};

// A plug-in's link.
struct LinkDef {
  const char* name;  // "gloo"
  // Connects this process with all others. Collective over the exchange. COMM, INVALID_ARGUMENT.
  std::unique_ptr<Link> (*create)(Exchange& exchange, const LinkSettings& settings);
  // Returns the launcher's own messages; null: the link has none. Collective over all processes of
  // the launcher. UNSUPPORTED, COMM.
  std::unique_ptr<Bootstrap> (*create_bootstrap)(Deadline deadline) = nullptr;
};

}  // namespace troika
