// A group whose ranks are replicas on any GPUs of this process: own kernels sum their buckets, in
// the order of ranks.
#pragma once

#include "backends/cuda/gpu_group.h"

namespace troika::cuda {

// In an all-reduce every rank copies its own slice of the others' buffers to its GPU and adds them
// to its own. When all ranks have done so, each copies the other slices from their owners. So each
// element is summed once, with the bits of replicas that share a GPU. A reduce-scatter is only the
// first of these stages, an all-gather only the second. Flags are combined like a bucket of one
// element.
class PeerGpuGroup : public GpuGroup {
 public:
  // OUT_OF_MEMORY if a GPU has no room for the slices that are summed.
  explicit PeerGpuGroup(std::vector<std::shared_ptr<CudaDevice>> devices);
  ~PeerGpuGroup() override { wait_for_streams(); }  // which use the scratch

 protected:
  Stage launch(const Slot& slot, int rank) override;

 private:
  void sum(const Slot& slot, const OwnedBytes& piece);
  void copy(void* to, int to_rank, const void* from, int from_rank, size_t bytes, cudaStream_t stream) const;

  // Memory for what a rank adds from other ranks. One per rank: its collectives follow each
  // other on one stream.
  std::vector<Buffer> scratch_;
};

}  // namespace troika::cuda
