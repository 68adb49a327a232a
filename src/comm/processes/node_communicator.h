// A rank of a group whose ranks are on several machines, with several processes on each: large sums
// are made within each machine first, then between machines.
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

namespace troika {

// Each rank of a machine gets the machine's sum of a piece of the data. Ranks of other machines
// have the same piece, with which the rank sums its own. Then the machine's ranks pass their pieces
// to each other. So a machine sends the data once, whatever the number of its processes is. The
// ranks compute meanwhile.
//
// Each step has a thread, which takes the slots in the order in which they were started. One thread
// for all steps could wait for a rank that waits for a later step of this one.
class NodeCommunicator : public Communicator {
 public:
  // Ends of the same rank: of the whole group, of the ranks of its machine, and of the ranks with
  // the same place on every machine.
  struct Ends {
    std::unique_ptr<Communicator> all, within, between;
  };

  explicit NodeCommunicator(Ends ends);
  ~NodeCommunicator() override;

  int rank() const override { return ends_of_.all->rank(); }
  int size() const override { return ends_of_.all->size(); }
  void reserve(int slots) override;
  void start(int slot, const Collective& collective, void* data) override;
  void progress() override;
  void wait(int slot, Deadline deadline) override;
  bool completes_alone() const override { return true; }
  void abort(const std::string& reason) override;
  std::optional<std::chrono::steady_clock::time_point> arrival(int slot) const override;

 private:
  struct Slot {
    bool is_by_node = false;          // the round in progress
    std::vector<OwnedBytes> pieces;   // of each rank of a machine
    std::byte* data = nullptr;
    int64_t started = 0, ended = 0;
    std::chrono::steady_clock::time_point completed;  // when the last round ended
  };

  using Step = void (NodeCommunicator::*)(int slot);

  void check_usable() const;
  void join();
  void run(size_t step);
  void sum_between(int slot);
  void gather(int slot);
  void end(int slot);

  const Ends ends_of_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::array<std::deque<int>, 3> waiting_;  // for each step: slots
  std::string failure_;
  bool ends_ = false;
  std::array<std::thread, 3> threads_;
};

}  // namespace troika
