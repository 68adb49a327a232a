// Joining a group.
#include "group/process_group.h"

#include <algorithm>

#include "core/error.h"
#include "core/machine.h"
#include "core/text.h"
#include "group/hub.h"
#include "group/hub_connection.h"

namespace troika {
namespace {

// Returns the same for processes of one machine. The identifier of the boot differs between
// machines whose names are equal.
std::string machine_of(int node) {
  return node >= 0 ? text("node ", node) : text(host_name(), ' ', boot_id());
}

// Returns the place at which the processes meet. Rank 0 of a launcher listens at a free port, whose
// number it passes on then.
std::string place_of(const GroupOptions& o, Deadline deadline) {
  if (!o.bootstrap) return o.rendezvous;
  return o.rank == 0 ? text(kTcp, "127.0.0.1:0") : o.bootstrap->broadcast("", deadline);
}

}  // namespace

ProcessGroup::ProcessGroup(const GroupOptions& options, const Log& log)
    : options_(checked(options)), secret_(options.secret) {
  const Deadline deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.connect_timeout_ms);
  std::optional<Rendezvous> rendezvous;
  if (size() > 1) rendezvous.emplace(place_of(options_, deadline), options_.interface);
  if (rank() == 0) {
    Socket socket = rendezvous ? rendezvous->listen(!options_.secret.empty()) : Socket();
    if (rendezvous && options_.bootstrap) options_.bootstrap->broadcast(text(kTcp, to_string(socket.own_address())), deadline);
    hub_ = std::make_unique<Hub>(std::move(socket), size(), options_.secret, deadline, log);
    member_ = std::make_shared<Member>(std::make_unique<Connection>(hub_->own_end()));
    hub_->start();
  } else {
    member_ = std::make_shared<Member>(connect_to_hub(*rendezvous, secret_, deadline));
  }
  roster_ = member_->join(rank(), size(), machine_of(options_.node), deadline);
  if (rank() == 0 && rendezvous) rendezvous->forget();
  for (const ProcessInfo& process : roster_) nodes_ = std::max(nodes_, process.node + 1);
  log.write(LogTopic::comm, LogLevel::info,
            text("group: rank ", rank(), " of ", size(), " processes on ", nodes_, nodes_ == 1 ? " node" : " nodes"));
}

ProcessGroup::~ProcessGroup() = default;

}  // namespace troika
