// The choice of a transport. transports.cpp is the one list of the transports that need no backend.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/link.h"
#include "comm/transport.h"

namespace troika {

// Returns the first transport that connects the world: first of those that backends bring, then of
// the list. If there is none: INVALID_ARGUMENT naming two devices of different kinds, or
// UNSUPPORTED.
const TransportDef& choose_transport(const World& world, const std::vector<const TransportDef*>& of_backends);

// ---- several processes ----

// Returns the transport between the world's ranks for data in host memory.
std::shared_ptr<Transport> create_host_transport(const World& world);

// Connects this process with all others, by the link of the plug-in of that name. Collective, and
// so is the end of the link, which messages call `end`.
std::shared_ptr<SharedLink> connect_processes(const std::string& link, const std::string& plugin_folder,
                                              std::shared_ptr<Exchange> exchange, const LinkSettings& settings,
                                              const char* end);

// Finds the processes of each machine that share memory. `nodes`: by process, its machine. Returns
// null if no machine has several processes. Collective. COMM.
std::shared_ptr<MachineMemory> share_memory(Exchange& exchange, const std::vector<int>& nodes, Deadline deadline);
// Returns an exchange whose messages pass in memory, or the same if not all processes share memory.
// Collective. COMM.
std::shared_ptr<Exchange> exchange_in_memory(std::shared_ptr<Exchange> exchange,
                                             const std::shared_ptr<MachineMemory>& memory, Deadline deadline);

// Return this process's end of a group with one rank per process, for data in host memory. With
// memory that all processes share, data pass there; collective then.
std::unique_ptr<Communicator> create_host_communicator(const std::shared_ptr<SharedLink>& link);
std::unique_ptr<Communicator> create_host_communicator(const std::shared_ptr<SharedLink>& link, Exchange& exchange,
                                                       const std::shared_ptr<MachineMemory>& memory, Deadline deadline);
std::unique_ptr<Messenger> create_host_messenger(const std::shared_ptr<SharedLink>& link);

}  // namespace troika
