// The slots of a communicator that a rank has to look at.
#pragma once

#include <algorithm>

namespace troika {

// The slots that a rank has started and not yet waited for. All are between two numbers.
class OpenSlots {
 public:
  void add(int slot) {
    end_ = std::max(end_, slot + 1);
    begin_ = std::min(begin_, slot);
  }
  void remove(int slot) {
    if (slot == begin_) ++begin_;
    if (begin_ >= end_) *this = OpenSlots();
  }
  // Calls f(slot) for each of the slots, and perhaps for others, until f returns true. Returns
  // whether it did.
  template <typename F>
  bool any(F f) const {
    for (int slot = begin_; slot < end_; ++slot)
      if (f(slot)) return true;
    return false;
  }

 private:
  int begin_ = 1 << 30, end_ = 0;
};

}  // namespace troika
