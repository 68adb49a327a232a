// A group whose ranks are in several processes, with their data in host memory.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "comm/communicator.h"
#include "comm/pairwise_sum.h"
#include "comm/processes/shared_link.h"

namespace troika {

// The elements of a bucket are cut over the processes. Each process sends its part of every other
// process's slice there, sums its own slice once all parts are there, and sends the sum to all. So
// each element is summed once, in the order of ranks: in pairs, then pairs of pairs, as within one
// process. A process with several ranks sends the sums of whole nodes of that tree. Small buckets,
// and those of two processes, are sent whole and summed everywhere: one message instead of two.
//
// A thread of the group waits for messages and sums, while the ranks compute.
class ProcessSums {
 public:
  // Returns the ends of the group's ranks that this process holds; null for the others. `owners`:
  // the process of each world rank. `id` tells the groups of a link apart.
  static std::vector<std::unique_ptr<Communicator>> create_communicators(std::shared_ptr<SharedLink> link, int id,
                                                                         const std::vector<int>& group,
                                                                         const std::vector<int>& owners);
  ~ProcessSums();

 private:
  friend class ProcessCommunicator;
  // A node of the tree of a sum.
  struct Node {
    size_t first, width;
  };
  // A process with ranks of the group.
  struct Part {
    int process;
    std::vector<size_t> positions;  // of its ranks within the group
    std::vector<Node> nodes;        // the largest that its ranks sum alone
  };
  // Messages with another process. A buffer belongs to the memory at its address.
  struct Lane {
    std::unique_ptr<LinkBuffer> buffer;
    const void* data = nullptr;
    size_t bytes = 0;
    int sends = 0, receives = 0;  // that have begun
  };
  struct Slot {
    Collective collective;                // of the round in progress
    std::vector<void*> data;              // of each local rank
    int started = 0;                      // local ranks that have started the round
    int64_t rounds = 0, done = 0;         // begun by all local ranks, and completed
    std::vector<int64_t> rank_rounds;     // that each local rank has started
    std::vector<std::byte> sent, received;  // parts of sums on their way
    std::vector<Lane> outgoing, incoming, results;  // by part
  };

  ProcessSums(std::shared_ptr<SharedLink> link, int id, const std::vector<int>& group, const std::vector<int>& owners);

  void reserve(int slots);
  void start(int index, size_t local, const Collective& collective, void* data);
  void wait(int index, size_t local, Deadline deadline);
  void check_usable(size_t local) const;
  void abort(const std::string& reason);
  int rank_of(size_t local) const { return static_cast<int>(own().positions[local]); }

  // ---- the steps of a collective ----
  void begin(int index, Slot& slot);
  void begin_all_reduce(int index, Slot& slot);
  void begin_gather(int index, Slot& slot);
  void begin_scatter(int index, Slot& slot);
  void begin_flags(int index, Slot& slot);
  void combine(int index, Slot& slot);  // waits for the parts of the others
  void combine_all_reduce(int index, Slot& slot);
  void combine_scatter(Slot& slot);
  void combine_flags(Slot& slot);
  void complete(Slot& slot);  // waits for the sums of the others
  void run();

  const Part& own() const { return parts_[own_]; }
  bool is_whole(const Collective& collective) const;  // each process sums all elements
  Range slice_of(const Collective& collective, size_t part) const;
  template <typename F>
  void for_each_other(F f) const;
  Lane& lane(std::vector<Lane>& lanes, size_t part, void* data, size_t bytes);
  void send(Lane& lane, int index, int phase, size_t offset, size_t bytes);
  void receive(Lane& lane, int index, int phase, size_t offset, size_t bytes);
  void wait_sent(std::vector<Lane>& lanes);
  void wait_received(std::vector<Lane>& lanes);
  template <typename T>
  void sum_nodes(const Slot& slot, Range elements, std::byte* to) const;
  template <typename T>
  void sum_elements(Slot& slot, Range elements, const std::vector<const std::byte*>& parts, int owner) const;

  const std::shared_ptr<SharedLink> link_;
  const uint64_t id_;
  const size_t size_;  // ranks
  std::vector<Part> parts_;
  size_t own_ = 0;  // of these

  mutable std::mutex mutex_;  // guards all that follows; a slot's data belong to one side at a time
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::deque<int> to_combine_, to_complete_;  // slots, in the order of their starts
  std::string failure_;
  std::string waits_for_;  // what the thread waits for
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace troika
