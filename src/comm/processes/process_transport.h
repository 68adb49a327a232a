// Ranks in several processes, with their data in host memory, connected by a link.
#pragma once

#include "comm/transport.h"

namespace troika {

// Connects CPU devices of several processes. Sums come in the same fixed order as within one
// process. `local` connects the ranks of this process.
std::unique_ptr<Transport> create_process_transport(const World& world, std::unique_ptr<Transport> local);
bool connects_processes(const World& world);

// Return this process's end of a group with one rank per process of the link.
std::unique_ptr<Communicator> create_process_communicator(const std::shared_ptr<SharedLink>& link);
std::unique_ptr<Messenger> create_process_messenger(const std::shared_ptr<SharedLink>& link);

}  // namespace troika
