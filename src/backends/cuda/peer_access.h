// Copies between GPUs that do not go through the host.
#pragma once

#include "backends/cuda/cuda_device.h"

namespace troika::cuda {

// Lets the device's GPU access the memory of the peer's, if it can; else copies between them go
// through the host. No effect if both are one GPU.
void enable_peer_access(const CudaDevice& device, const CudaDevice& peer);

}  // namespace troika::cuda
