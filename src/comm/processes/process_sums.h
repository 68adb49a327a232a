// A group whose ranks are in several processes, with their data in host memory.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "comm/communicator.h"
#include "comm/processes/process_slot.h"

namespace troika {

// Threads of the group wait for messages and sum, while the ranks compute. One combines parts. The
// other waits for the sums of other processes, so that a sum never waits for a later slot, which
// another process may start only after this sum.
class ProcessSums {
 public:
  // Returns the ends of the group's ranks that this process holds; null for the others. `owners`:
  // the process of each world rank. `id` is that of no other group of the link.
  static std::vector<std::unique_ptr<Communicator>> create_communicators(std::shared_ptr<SharedLink> link, int id,
                                                                         const std::vector<int>& group,
                                                                         const std::vector<int>& owners);
  ~ProcessSums();

 private:
  friend class ProcessCommunicator;
  struct Slot {
    Slot(SharedLink& link, const ProcessParts& parts, uint64_t tag) : steps(link, parts, tag) {}
    ProcessSlot steps;
    Collective collective;             // of the round in progress
    std::vector<void*> data;           // of each local rank
    std::vector<int64_t> rank_rounds;  // that each local rank has started
    int started = 0;                   // local ranks that have started the round
    int64_t done = 0;                  // rounds that are complete
    // When the last of them was.
    std::chrono::steady_clock::time_point completed;
  };

  ProcessSums(std::shared_ptr<SharedLink> link, int id, const std::vector<int>& group, const std::vector<int>& owners);

  void reserve(int slots);
  void start(int index, size_t local, const Collective& collective, void* data);
  void wait(int index, size_t local, Deadline deadline);
  void check_usable(size_t local) const;
  void abort(const std::string& reason) noexcept;
  int rank_of(size_t local) const { return static_cast<int>(parts_.own().positions[local]); }
  void join();
  void run(bool combines);

  const std::shared_ptr<SharedLink> link_;
  const uint64_t id_;
  const ProcessParts parts_;

  mutable std::mutex mutex_;  // guards all that follows; a slot's steps belong to one side at a time
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::deque<int> to_combine_, to_complete_;  // slots, in the order of their starts
  std::string failure_;
  std::array<int, 2> waits_for_{-1, -1};  // the processes for which the threads wait
  bool ends_ = false;
  std::thread combiner_, completer_;
};

}  // namespace troika
