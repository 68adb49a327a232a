// One rank of a group of GPUs that compute together by NCCL.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

#include "comm/communicator.h"
#include "comm/nccl/nccl_comm.h"
#include "core/destroy.h"
#include "group/exchange.h"

namespace troika::nccl {

// A rank's GPU, which is current on every thread that calls, and the stream of its launches.
struct Rank {
  int device;
  cudaStream_t stream;
  // While joining: set if another rank of the process cannot join, so that no rank waits for it.
  const std::atomic<bool>* is_given_up = nullptr;
  // If the group's ranks are in several processes: says why a process is lost.
  std::shared_ptr<const Exchange> processes = nullptr;
};

// Collectives run on a stream of their own, concurrently with the launches that follow. A wait
// makes the launches wait, not the host.
class NcclCommunicator : public Communicator {
 public:
  // Collective: every rank calls it with the same id, from its own thread or process. Never blocks
  // inside NCCL. COMM at the deadline.
  NcclCommunicator(int rank, int size, const ncclUniqueId& id, Rank own, Deadline deadline);
  ~NcclCommunicator() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void reserve(int slots) override;
  void start(int slot, const Collective& collective, void* data) override;
  // COMM if NCCL has met an error since the last call: a lost rank, a broken connection.
  void progress() override;
  void wait(int slot, Deadline deadline) override;
  void abort(const std::string& reason) override;

 private:
  void require_usable() const;
  void require_processes() const;
  ncclResult_t call(const Collective& collective, std::byte* data);
  void settle(ncclResult_t result, const char* what, Deadline deadline);
  template <typename Call>
  void start_call(int slot, const char* what, Call&& call);

  const int rank_, size_;
  Rank own_;
  // The GPU is current when they end, as in every call. `comm_` uses the stream and ends first.
  using Stream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, Destroy<cudaStreamDestroy>>;
  using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, Destroy<cudaEventDestroy>>;
  struct Slot {
    Event ready, done;
  };
  Stream stream_;
  std::vector<Slot> slots_;
  NcclComm comm_;
  mutable std::mutex mutex_;  // NCCL may not be called while it aborts
  std::atomic<bool> is_aborting_ =
      false;  // set before the mutex is locked, so that a thread that waits under it gives up
  bool is_aborted_ = false;
  std::string abort_reason_;
};

}  // namespace troika::nccl
