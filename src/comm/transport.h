// A transport connects the ranks of a world: it makes the ends through which ranks compute
// together.
#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "comm/messenger.h"
#include "device/backend.h"

namespace troika {

class Exchange;       // group/exchange.h
class SharedLink;     // comm/processes/shared_link.h
class MachineMemory;  // comm/processes/machine_memory.h
class Transport;

// A rank of the world that this process holds, and the device that computes for the rank.
struct LocalMember {
  int rank;
  std::shared_ptr<Device> device;
};

struct World {
  int size = 0;                    // ranks of all processes
  std::vector<LocalMember> local;  // in the order of ranks
  // Sums are added in pairs of ranks, then pairs of pairs, even if another order is faster.
  bool needs_fixed_order = false;

  // ---- of several processes; empty: this process holds all ranks ----
  std::vector<int> owners = {};                     // by rank: the process that holds the rank
  std::vector<int> nodes = {};                      // by process: its machine
  std::shared_ptr<SharedLink> link = nullptr;       // between the processes
  std::shared_ptr<MachineMemory> memory = nullptr;  // of processes of one machine; null: each has its own
  std::shared_ptr<Exchange> exchange = nullptr;     // of all processes
  Deadline deadline = Deadline::max();              // for creating the transport's groups
  bool takes_vendor_sums = true;                    // such as NCCL's, if sums may be added in any order

  bool mixes_kinds = false;  // some devices are CPUs, others GPUs: their data meet in host memory
  // Of the same ranks, for data in host memory; null: no rank needs it.
  std::shared_ptr<Transport> host = nullptr;
  bool is_whole() const { return owners.empty(); }
};

// A group is a list of world ranks, in the order of the members' ranks within the group. Each
// function returns one end per member, in that order: null for a member that another process holds.
// All processes call the functions for the same groups in the same order, with and without members.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::vector<std::unique_ptr<Communicator>> create_communicators(const std::vector<int>& group) = 0;
  virtual std::vector<std::unique_ptr<Messenger>> create_messengers(const std::vector<int>& group) = 0;
};

// An entry of the list of transports (comm/transports.cpp) or of a backend's (Backend::transports).
struct TransportDef {
  const char* name;  // "threads"
  bool (*connects)(const World& world);
  std::unique_ptr<Transport> (*create)(const World& world);
};

}  // namespace troika
