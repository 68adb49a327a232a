// Messages between threads of this process, whose data lie in host memory.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "comm/group_state.h"
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
  GroupState state_;
  std::map<Key, Message> messages_;  // under the state's mutex; what was sent once keeps its place
};

}  // namespace troika
