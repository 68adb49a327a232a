// A rank of a group whose sums are made in host memory: for ranks in several processes that NCCL
// does not connect, and for sums in a fixed order.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backends/cuda/cuda_device.h"
#include "backends/cuda/event.h"
#include "backends/cuda/pinned_memory.h"
#include "backends/cuda/stream.h"
#include "comm/communicator.h"

namespace troika::cuda {

// The data are copied to pinned memory after the launches that made the data, on a stream of the
// communicator. A thread waits for the copy, for the host's collective, and has the result copied
// back. The launches go on meanwhile.
class StagedCommunicator : public Communicator {
 public:
  // `host`: the same rank's end of the same group, for data in host memory.
  StagedCommunicator(std::shared_ptr<CudaDevice> device, std::unique_ptr<Communicator> host);
  ~StagedCommunicator() override;

  int rank() const override { return host_->rank(); }
  int size() const override { return host_->size(); }
  void reserve(int slots) override;
  void start(int slot, const Collective& collective, void* data) override;
  void progress() override;
  void wait(int slot, Deadline deadline) override;
  void abort(const std::string& reason) override;

 private:
  struct Slot {
    Collective collective;
    std::byte* data = nullptr;
    PinnedMemory copy;
    size_t capacity = 0;
    Event ready, copied, done;  // the first on the launches, the others on the side stream
    int64_t started = 0, ended = 0;
  };

  std::string name() const;
  void check_usable() const;
  void run();
  void begin(int slot);
  void end(int slot);

  const std::shared_ptr<CudaDevice> device_;
  const std::unique_ptr<Communicator> host_;
  Stream side_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::deque<int> to_begin_;
  std::string failure_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace troika::cuda
