// A group whose ranks are replicas on one GPU: own kernels sum their buckets in place.
#pragma once

#include "backends/cuda/gpu_group.h"

namespace troika::cuda {

// Every rank sums its own slice of a bucket and writes the sum into every rank's buffer. So each
// element is summed once, and all replicas get the same bits. In an all-gather each rank copies
// what the others own. In a reduce-scatter each sums what it owns. Rank 0 combines flags. There is
// one stage.
class SharedGpuGroup : public GpuGroup {
 public:
  explicit SharedGpuGroup(std::vector<std::shared_ptr<CudaDevice>> devices) : GpuGroup(std::move(devices)) {}

 protected:
  Stage launch(const Slot& slot, int rank) override;
};

}  // namespace troika::cuda
