// Ranks that are replicas on GPUs of this process.
#pragma once

#include "comm/transport.h"

namespace troika::cuda {

// Connects GPUs, if this process holds all ranks of the world. One GPU may have several ranks.
extern const TransportDef gpu_transport;

}  // namespace troika::cuda
