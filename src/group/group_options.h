// Options of a group of processes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "group/bootstrap.h"

namespace troika {

struct GroupOptions {
  int rank = 0, size = 1;  // of processes
  int node = -1;           // number of this process's machine; -1: told apart by the machines' names
  std::string rendezvous;  // "tcp://host:port" of rank 0, "file:///folder/name", or "mpi://"
  // The network interface, or the address, that this process listens at; empty: loopback for a
  // file, the host of a tcp:// rendezvous, and the way to that host for other ranks.
  std::string interface;
  std::string transport;                 // "gloo", "mpi" or "nccl"; empty: chosen by the devices
  std::shared_ptr<Bootstrap> bootstrap;  // of "mpi://"; null for the others
  std::string secret;                    // all processes have the same; needed beyond loopback
  int64_t connect_timeout_ms = 60'000;
  int64_t deadline_ms = 120'000;  // of each collective

  // Whether the processes of a machine pass data in memory: unless the host names a link.
  bool uses_memory() const { return transport.empty() || transport == "nccl"; }
  // The link for data in host memory, which NCCL does not carry.
  std::string link_name() const { return transport.empty() || transport == "nccl" ? "gloo" : transport; }
};

// Returns the options. INVALID_ARGUMENT naming the one that is wrong.
const GroupOptions& checked(const GroupOptions& options);

}  // namespace troika
