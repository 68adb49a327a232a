// A launcher's own messages, by which the processes of a group find rank 0 and share a secret.
#pragma once

#include <string>

#include "core/deadline.h"

namespace troika {

// MPI is one (rendezvous "mpi://"). All processes of the launcher belong to the group.
class Bootstrap {
 public:
  virtual ~Bootstrap() = default;
  virtual int rank() const = 0;  // of processes
  virtual int size() const = 0;
  virtual bool is_one_machine() const = 0;
  // Returns the message of rank 0, at most 1,024 bytes, to all processes. `message` is read on
  // rank 0. COMM if a process is late.
  virtual std::string broadcast(const std::string& message, Deadline deadline) = 0;
};

}  // namespace troika
