// Ranks on GPUs, and those on CPUs next to them.
#pragma once

#include "comm/transport.h"

namespace troika::cuda {

// Connects GPUs; with CPUs and other processes through host memory. One GPU may have several ranks.
extern const TransportDef gpu_transport;

// Returns the version of NCCL that this was built with; its library is opened at the first use.
std::string built_nccl_version();

}  // namespace troika::cuda
