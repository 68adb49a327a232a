// Connecting to the hub of a group.
#pragma once

#include <memory>

#include "core/deadline.h"
#include "group/connection.h"
#include "group/rendezvous.h"

namespace troika {

// Tries again and again until the deadline. The secret must outlive the connection. COMM with the
// reason; at once if the hub has another secret.
std::unique_ptr<Connection> connect_to_hub(const Rendezvous& rendezvous, const Secret& secret, Deadline deadline);

}  // namespace troika
