// A group whose ranks are replicas on one GPU: own kernels sum their buckets in place.
#pragma once

#include "backends/cuda/gpu_group.h"

namespace troika::cuda {

// Every rank sums its own slice of a bucket and writes the sum into every rank's buffer: each element is summed once, and all
// replicas get the same bits. Of an all-gather, each copies what the others own; of a reduce-scatter, each sums what it owns;
// flags are rank 0's. One stage.
class SharedGpuGroup : public GpuGroup {
 public:
  explicit SharedGpuGroup(std::vector<std::shared_ptr<CudaDevice>> devices) : GpuGroup(std::move(devices)) {}

 protected:
  Stage launch(const Slot& slot, int rank) override;
};

}  // namespace troika::cuda
