// A group whose ranks are threads of this process, with their data in host memory.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "comm/collective.h"
#include "comm/communicator.h"
#include "comm/group_state.h"

namespace troika {

// Every rank sums its own slice of a bucket once all ranks have started the bucket, and writes the
// sum into every rank's buffer. So the work is even, no thread is added, and each element is summed
// once, in a fixed order: ranks in pairs, then pairs of pairs. In an all-gather each rank copies
// what the others own. In a reduce-scatter each rank sums what it owns. Rank 0 combines flags.
class LocalGroup {
 public:
  static std::vector<std::unique_ptr<Communicator>> create_communicators(int size);

 private:
  friend class LocalCommunicator;
  struct Slot {
    explicit Slot(int size)
        : data(static_cast<size_t>(size), nullptr),
          rounds(static_cast<size_t>(size), 0),
          slice_done(static_cast<size_t>(size), 1) {}
    Collective collective;            // of the round in progress
    std::vector<void*> data;          // of each rank
    std::vector<int64_t> rounds;      // times that each rank has started it; each number belongs to its rank
    std::atomic<int64_t> started{0};  // starts by all ranks; all have started round k at k * size
    std::vector<char> slice_done;     // of the rank's round; each flag belongs to its rank
    std::atomic<int64_t> done{0};     // slices summed; round k is complete at k * size
    std::chrono::steady_clock::time_point completed;  // when the last round was complete
  };

  explicit LocalGroup(int size) : size_(size) {}

  const int size_;
  std::vector<std::unique_ptr<Slot>> slots_;  // grows under the state's mutex, while no rank runs
  GroupState state_;
};

}  // namespace troika
