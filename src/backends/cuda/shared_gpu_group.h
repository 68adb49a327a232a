// A group whose ranks are replicas on one GPU: an own kernel sums their buckets, in the order of ranks.
#pragma once

#include <cuda_runtime_api.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/cuda/cuda_device.h"
#include "comm/communicator.h"

namespace troika::cuda {

constexpr int kMostShared = 16;  // replicas of one GPU

// Every rank sums its own slice of a bucket on a stream of its own, behind the launches of all ranks that made it, and writes
// the sum into every rank's buffer: each element is summed once, and all replicas get the same bits.
class SharedGpuGroup : public std::enable_shared_from_this<SharedGpuGroup> {
 public:
  static std::shared_ptr<SharedGpuGroup> create(std::vector<std::shared_ptr<CudaDevice>> devices, int slots);
  ~SharedGpuGroup();
  std::unique_ptr<Communicator> communicator(int rank);

 private:
  friend class SharedGpuCommunicator;
  struct RankSlot {
    float* data = nullptr;
    cudaEvent_t ready = nullptr, done = nullptr;  // its gradients are made; its slice is summed
    int64_t rounds = 0;                           // times that its rank has started it
    bool is_summed = true;                        // its slice of this round has been handed to the GPU
  };
  struct Slot {
    std::vector<RankSlot> ranks;
    int64_t count = 0;               // elements, of the round in progress
    int64_t started = 0, summed = 0;  // by all ranks; round k is there at k * size
  };

  SharedGpuGroup(std::vector<std::shared_ptr<CudaDevice>> devices, int slots);

  const std::vector<std::shared_ptr<CudaDevice>> devices_;
  std::vector<cudaStream_t> streams_;  // one a rank, beside its launches
  std::vector<Slot> slots_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_aborted_ = false;
  std::string abort_reason_;
};

// data[r][begin .. begin + count) for every rank r of `size` becomes the sum over the ranks, added in their order.
void launch_sum(float* const* data, int size, int64_t begin, int64_t count, cudaStream_t stream);

}  // namespace troika::cuda
