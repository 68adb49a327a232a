// Messages between threads of this process, whose data are stored in host memory.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "comm/group_state.h"
#include "comm/messenger.h"

namespace troika {

class LocalMessages {
 public:
  static std::vector<std::unique_ptr<Messenger>> create_messengers(int size);

 private:
  friend class LocalMessenger;
  // A message on its way, stored here so that no sender waits for its receiver.
  struct Message {
    std::vector<std::byte> data;
    bool is_there = false;
  };
  using Key = std::array<int, 3>;  // {from, to, slot}

  explicit LocalMessages(int size) : size_(size) {}

  const int size_;
  GroupState state_;
  std::map<Key, Message> messages_;  // under the state's mutex; a message that was sent once keeps its room
};

}  // namespace troika
