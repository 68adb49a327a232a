// Which GPUs reach each other's memory.
#include "backends/cuda/peer_access.h"

#include "backends/cuda/check.h"

namespace troika::cuda {

void enable_peer_access(const CudaDevice& device, const CudaDevice& peer) {
  if (device.id() == peer.id()) return;
  const ContextGuard guard(*device.context());
  int can = 0;
  check_launch(cudaDeviceCanAccessPeer(&can, device.id().index, peer.id().index));
  if (!can) return;
  const cudaError_t status = cudaDeviceEnablePeerAccess(peer.id().index, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled)
    cudaGetLastError();
  else
    check_launch(status);
}

}  // namespace troika::cuda
