// The one list that names the transports.
#include "comm/transports.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>

#include "comm/links.h"
#include "comm/local/local_transport.h"
#include "comm/processes/machine_memory.h"
#include "comm/processes/memory_communicator.h"
#include "comm/processes/memory_exchange.h"
#include "comm/processes/process_transport.h"
#include "comm/processes/shared_link.h"
#include "core/text.h"

namespace troika {
namespace {

const TransportDef process_transport{"processes", connects_processes,
                                     [](const World& world) -> std::unique_ptr<Transport> {
                                       return create_process_transport(world, local_transport.create(world));
                                     }};

std::vector<int> all_of(const Exchange& exchange) {
  std::vector<int> processes(static_cast<size_t>(exchange.size()));
  std::iota(processes.begin(), processes.end(), 0);
  return processes;
}

constexpr const TransportDef* kTransports[] = {&local_transport, &process_transport};

}  // namespace

std::shared_ptr<Transport> create_host_transport(const World& world) {
  if (world.is_whole()) return local_transport.create(world);
  return create_process_transport(world, local_transport.create(world));
}

const TransportDef& choose_transport(const World& world, const std::vector<const TransportDef*>& of_backends) {
  std::vector<const TransportDef*> transports = of_backends;
  transports.insert(transports.end(), std::begin(kTransports), std::end(kTransports));
  const auto found =
      std::find_if(transports.begin(), transports.end(), [&](const TransportDef* t) { return t->connects(world); });
  if (found != transports.end()) return **found;
  throw Error(Status::unsupported, text("devices such as ", world.local.front().device->id(),
                                        " cannot train together: no transport connects them"));
}

std::shared_ptr<SharedLink> connect_processes(const std::string& link, const std::string& plugin_folder,
                                              std::shared_ptr<Exchange> exchange, const LinkSettings& settings,
                                              const char* end) {
  auto connected = require_link(link, plugin_folder).create(*exchange, settings);
  return std::make_shared<SharedLink>(std::move(exchange), std::move(connected), end);
}

std::unique_ptr<Communicator> create_host_communicator(const std::shared_ptr<SharedLink>& link) {
  return create_process_communicator(link);
}

std::unique_ptr<Communicator> create_host_communicator(const std::shared_ptr<SharedLink>& link, Exchange& exchange,
                                                       const std::shared_ptr<MachineMemory>& memory,
                                                       Deadline deadline) {
  const std::vector<int> processes = all_of(exchange);
  if (!memory || !memory->reaches(processes)) return create_process_communicator(link);
  auto ends = MemoryCommunicator::create(link, exchange, processes, processes, deadline);
  return ends.empty() ? create_process_communicator(link) : std::move(ends[static_cast<size_t>(exchange.rank())]);
}

std::shared_ptr<MachineMemory> share_memory(Exchange& exchange, const std::vector<int>& nodes, Deadline deadline) {
  const std::set<int> machines(nodes.begin(), nodes.end());
  return machines.size() < nodes.size() ? std::make_shared<MachineMemory>(exchange, nodes, deadline) : nullptr;
}

std::shared_ptr<Exchange> exchange_in_memory(std::shared_ptr<Exchange> exchange,
                                             const std::shared_ptr<MachineMemory>& memory, Deadline deadline) {
  if (!memory || !memory->reaches(all_of(*exchange))) return exchange;
  return MemoryExchange::create(std::move(exchange), deadline);
}

std::unique_ptr<Messenger> create_host_messenger(const std::shared_ptr<SharedLink>& link) {
  return create_process_messenger(link);
}

}  // namespace troika
