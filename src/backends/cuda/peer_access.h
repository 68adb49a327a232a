// Copies between GPUs that do not go through the host.
#pragma once

#include "backends/cuda/cuda_device.h"

namespace troika::cuda {

// Lets the device's GPU reach the memory of the peer's, where it can; where it cannot, copies between them go through the host.
// No effect where both are one.
void enable_peer_access(const CudaDevice& device, const CudaDevice& peer);

}  // namespace troika::cuda
