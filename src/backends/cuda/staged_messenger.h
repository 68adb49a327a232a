// A rank's messages to ranks of other processes: copies to and from host memory, which the host's
// messages carry.
#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "backends/cuda/cuda_device.h"
#include "backends/cuda/event.h"
#include "backends/cuda/pinned_memory.h"
#include "comm/messenger.h"

namespace troika::cuda {

// Both copies are on the stream of the launches. A thread waits for the copy of what is sent.
class StagedMessenger : public Messenger {
 public:
  // `host`: the same rank's end of the same group, for data in host memory.
  StagedMessenger(std::shared_ptr<CudaDevice> device, std::unique_ptr<Messenger> host);
  ~StagedMessenger() override;

  int rank() const override { return host_->rank(); }
  int size() const override { return host_->size(); }
  void reserve(int from, int slot, size_t bytes) override;
  void send(int to, int slot, const void* data, size_t bytes, Deadline deadline) override;
  void receive(int from, int slot, void* data, size_t bytes, Deadline deadline) override;
  void abort(const std::string& reason) override;

 private:
  using Key = std::array<int, 2>;  // {the other rank, slot}
  struct Box {
    PinnedMemory memory;
    size_t capacity = 0;
    Event copied;  // on the launches
  };
  struct Sending {
    Key key;
    size_t bytes;
    Deadline deadline;
  };

  std::string name() const;
  void check_usable() const;
  void make_room(Box& box, size_t bytes) const;
  void run();

  const std::shared_ptr<CudaDevice> device_;
  const std::unique_ptr<Messenger> host_;
  std::map<Key, Box> inboxes_;  // of the rank's thread
  std::mutex mutex_;            // guards what follows
  std::condition_variable changed_;
  std::map<Key, Box> outboxes_;
  std::deque<Sending> sendings_;  // the first is under way
  std::string failure_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace troika::cuda
