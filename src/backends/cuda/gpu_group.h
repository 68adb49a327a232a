// A group whose ranks are replicas on GPUs of this process: which rank has started what, and who
// may launch its part of it.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/cuda_device.h"
#include "backends/cuda/event.h"
#include "comm/collective.h"
#include "comm/communicator.h"
#include "comm/group_state.h"
#include "core/split.h"

namespace troika::cuda {

constexpr int kMostSummed = 16;  // ranks of a group

// Each rank launches its part of a collective on a stream of its own, concurrently with its
// launches. There are one or two stages, each after the stage before of every rank. The derived
// group defines the parts. An event is waited for only after its rank has recorded it, which the
// host's counters show. So the host waits for other ranks to arrive, never for a GPU.
class GpuGroup : public std::enable_shared_from_this<GpuGroup> {
 public:
  virtual ~GpuGroup();
  int size() const { return static_cast<int>(devices_.size()); }
  std::unique_ptr<Communicator> communicator(int rank);

 protected:
  enum Stage { started, summed, done, kStages };  // summed: a rank's own piece has its sum, the others not yet
  struct RankSlot {
    void* data = nullptr;
    Event events[kStages];  // `started` is recorded on the rank's launches, the others on side(rank)
    int64_t rounds = 0;     // times that its rank has started it
    Stage stage = done;     // the last of this round that has been handed to the GPU
  };
  struct Slot {
    std::vector<RankSlot> ranks;
    // State of the round in progress.
    Collective collective;
    std::vector<OwnedBytes> slices;                   // its elements, cut among the ranks
    const std::vector<OwnedBytes>* pieces = nullptr;  // who owns what; `slices` if the caller passes none
    int64_t reached[kStages] = {};                    // times that ranks have; all have in round k at k * size
  };

  // UNSUPPORTED if there are too many.
  explicit GpuGroup(std::vector<std::shared_ptr<CudaDevice>> devices);

  // Launches the rank's part of the stage after its last one, on its stream, and returns the stage
  // that it reaches. Called on the rank's thread.
  virtual Stage launch(const Slot& slot, int rank) = 0;

  CudaDevice& device(int rank) const { return *devices_[static_cast<size_t>(rank)]; }
  cudaStream_t side(int rank) const { return streams_[static_cast<size_t>(rank)].get(); }
  void wait_for_streams() const;

 private:
  friend class GpuCommunicator;

  std::string name_of(const CudaDevice& device) const;  // begins a message
  void reserve(int slots);

  const std::vector<std::shared_ptr<CudaDevice>> devices_;
  std::vector<Stream> streams_;  // one per rank, concurrent with its launches
  GroupState state_;
  std::vector<Slot> slots_;  // under the state's mutex
};

// Elements [begin, begin + count) of data[r] become the sum over the ranks, added in pairs, then
// pairs of pairs: for every rank r of `size`, or for rank `only` alone.
void launch_sum(DType dtype, void* const* data, int size, int64_t begin, int64_t count, cudaStream_t stream,
                int only = -1);
// Each flag, an int32_t, becomes 1 if none is 0, else 0.
void launch_all_of(void* const* flags, int size, cudaStream_t stream);

}  // namespace troika::cuda
