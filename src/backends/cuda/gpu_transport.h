// Ranks that are replicas on GPUs of this process.
#pragma once

#include "comm/transport.h"

namespace troika::cuda {

// Connects GPUs, if this process holds all ranks of the world. One GPU may have several ranks.
extern const TransportDef gpu_transport;

// Returns the version of NCCL that this was built with; its library is opened at the first use.
std::string built_nccl_version();

}  // namespace troika::cuda
