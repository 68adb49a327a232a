// Messages between threads of this process, whose data lie in host memory.
#pragma once

#include <array>
#include <condition_variable>
#include <map>
#include <mutex>

#include "comm/messenger.h"

namespace troika {

class LocalMessages : public std::enable_shared_from_this<LocalMessages> {
 public:
  static std::shared_ptr<LocalMessages> create(int size);
  std::unique_ptr<Messenger> messenger(int rank);

 private:
  friend class LocalMessenger;
  // A message on its way; it lies here, so that no sender waits for its receiver.
  struct Message {
    std::vector<std::byte> data;
    bool is_there = false;
  };
  using Key = std::array<int, 3>;  // {from, to, slot}

  explicit LocalMessages(int size) : size_(size) {}

  const int size_;
  std::map<Key, Message> messages_;  // under mutex_; what was sent once keeps its place
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_aborted_ = false;  // under mutex_, as the reason
  std::string abort_reason_;
};

}  // namespace troika
