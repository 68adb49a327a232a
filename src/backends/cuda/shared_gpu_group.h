// A group whose ranks are replicas on one GPU: own kernels sum their buckets, in the order of ranks.
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
// the sum into every rank's buffer: each element is summed once, and all replicas get the same bits. Of an all-gather, each
// copies what the others own; of a reduce-scatter, each sums what it owns; flags are rank 0's.
class SharedGpuGroup : public std::enable_shared_from_this<SharedGpuGroup> {
 public:
  static std::shared_ptr<SharedGpuGroup> create(std::vector<std::shared_ptr<CudaDevice>> devices, int slots);
  ~SharedGpuGroup();
  std::unique_ptr<Communicator> communicator(int rank);

 private:
  friend class SharedGpuCommunicator;
  struct RankSlot {
    float* data = nullptr;                        // of an all_of an int32_t's
    cudaEvent_t ready = nullptr, done = nullptr;  // its data are made; its slice is done
    int64_t rounds = 0;                           // times that its rank has started it
    bool is_launched = true;                      // its slice of this round has been handed to the GPU
  };
  struct Slot {
    enum Kind { all_reduce, all_gather, reduce_scatter, all_of } kind = all_reduce;  // of the round in progress
    std::vector<RankSlot> ranks;
    const std::vector<OwnedBytes>* pieces = nullptr;  // null: of an all_reduce or all_of
    int64_t count = 0;                                // elements, of the round in progress
    int64_t started = 0, launched = 0;                // by all ranks; round k is there at k * size
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

// data[r][begin .. begin + count) becomes the sum over the ranks, added in pairs, then pairs of pairs: for every rank r of
// `size`, or for rank `only` alone.
void launch_sum(float* const* data, int size, int64_t begin, int64_t count, cudaStream_t stream, int only = -1);
// Each flag becomes 1 where none is 0, else 0.
void launch_all_of(int32_t* const* flags, int size, cudaStream_t stream);

}  // namespace troika::cuda
