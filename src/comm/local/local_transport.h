// Ranks that are threads of this process, with their data in host memory.
#pragma once

#include "comm/transport.h"

namespace troika {

// Connects CPU devices, if this process holds all ranks of the world. Sums come in a fixed order.
extern const TransportDef local_transport;

}  // namespace troika
