// Messages between replicas on GPUs of this process: copies from memory to memory, concurrent with
// the launches.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "backends/cuda/cuda_device.h"
#include "backends/cuda/event.h"
#include "comm/group_state.h"
#include "comm/messenger.h"

namespace troika::cuda {

// A message travels in three copies. The first, after the launches that made the data, is into an
// outbox. The second is into an inbox on the receiver's GPU, on a stream that runs concurrently
// with the sender's launches. The third is to the place where the data are read. If both ranks have
// one GPU, the outbox is the inbox. Events order the copies. The host waits only until the other
// rank has recorded the event that it needs.
class GpuMessages : public std::enable_shared_from_this<GpuMessages> {
 public:
  static std::shared_ptr<GpuMessages> create(std::vector<std::shared_ptr<CudaDevice>> devices);
  ~GpuMessages();
  std::unique_ptr<Messenger> messenger(int rank);

 private:
  friend class GpuMessenger;
  struct Message {
    Buffer outbox = no_buffer(), inbox = no_buffer();  // inbox: null if both ranks have one GPU
    size_t capacity = 0, bytes = 0;                    // bytes: of what was sent last
    // The outbox is full (on the sender's launches), the inbox is full (on the side stream), the
    // inbox was read (on the receiver's launches).
    Event made, sent, received;
    bool is_there = false;  // sent by its rank, and not yet received
  };
  using Key = std::array<int, 3>;  // {from, to, slot}

  explicit GpuMessages(std::vector<std::shared_ptr<CudaDevice>> devices);
  const CudaDevice& device(int rank) const { return *devices_[static_cast<size_t>(rank)]; }
  bool share_gpu(int a, int b) const { return device(a).id() == device(b).id(); }
  void reserve(int from, int to, int slot, size_t bytes);

  const std::vector<std::shared_ptr<CudaDevice>> devices_;
  std::vector<Stream> streams_;  // one per rank, concurrent with its launches
  GroupState state_;
  std::map<Key, Message> messages_;  // under the state's mutex
};

}  // namespace troika::cuda
