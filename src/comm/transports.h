// The choice of a transport. transports.cpp is the one list of the transports that need no backend.
#pragma once

#include <vector>

#include "comm/transport.h"

namespace troika {

// Returns the first transport that connects the world: first of those that backends bring, then of
// the list. If there is none: INVALID_ARGUMENT naming two devices of different kinds, or
// UNSUPPORTED.
const TransportDef& choose_transport(const World& world, const std::vector<const TransportDef*>& of_backends);

}  // namespace troika
