// One rank of a group whose ranks are in several processes of one machine, which share memory.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/open_slots.h"
#include "comm/processes/foreign_blocks.h"
#include "comm/processes/shared_link.h"
#include "comm/slices.h"
#include "core/shared_signal.h"
#include "group/exchange.h"

namespace troika {

// Each rank does its slice once all ranks have started, on the data of all ranks: as the threads of
// one process do (comm/local/local_group.h), and with the same bits. Data that no other process can
// map are copied to a block that the processes share, and back.
class MemoryCommunicator : public Communicator {
 public:
  // Returns the ends of the group's ranks that this process holds; null for the others. `owners`:
  // the process of each world rank; all can map each other's memory. Returns none if the memory
  // cannot be had. Collective over all processes of the exchange, with and without members. COMM.
  static std::vector<std::unique_ptr<Communicator>> create(const std::shared_ptr<SharedLink>& link, Exchange& exchange,
                                                           const std::vector<int>& group,
                                                           const std::vector<int>& owners, Deadline deadline);

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(group_->processes.size()); }
  void reserve(int slots) override;
  void start(int slot, const Collective& collective, void* data) override;
  void progress() override;
  void wait(int slot, Deadline deadline) override;
  void abort(const std::string& reason) override;
  std::optional<std::chrono::steady_clock::time_point> arrival(int slot) const override;

 private:
  // ---- in the group's shared memory, zeroed at first ----
  struct RankPart {                      // of a slot
    std::atomic<int64_t> started, done;  // rounds
    SharedPlace place;                   // of the data; this and what follows: of the round in progress
    int64_t count;
    CollectiveKind kind;
    DType dtype;
  };
  struct SlotHead {
    std::atomic<int64_t> started;    // by all ranks; all have started round k at k * size
    std::atomic<int64_t> done;       // slices; round k is complete at k * size
    // When the last of them was done, by the system's clock: containers have steady clocks of their
    // own.
    std::atomic<int64_t> completed;
  };

  // The ends of a process share it.
  struct Group {
    mutable ForeignBlocks blocks;
    std::shared_ptr<SharedLink> link;
    std::unique_ptr<SharedMemory> own;  // the group's memory, if this process made it
    std::byte* base = nullptr;          // of it
    std::vector<int> processes;         // by rank

    SharedSignal& signal() const { return *reinterpret_cast<SharedSignal*>(base); }
    SlotHead& head(int slot) const;
    RankPart& part(int slot, size_t rank) const;
  };

  // This rank's copy of data that the others cannot map.
  struct Copy {
    std::byte* data = nullptr;
    size_t capacity = 0;
    bool is_used = false;  // in the round in progress
  };
  struct Slot {
    Collective collective;  // of the round in progress
    std::byte* data = nullptr;
    int64_t round = 0;
    bool is_slice_done = true;
    Copy copy;
  };

  MemoryCommunicator(std::shared_ptr<const Group> group, int rank) : group_(std::move(group)), rank_(rank) {}

  static size_t bytes_of_slot(size_t members);
  int64_t all_of_round(const Slot& slot) const { return slot.round * size(); }
  void check_usable() const;
  SharedPlace copy_in(Slot& slot);
  void copy_out(const Slot& slot) const;
  void make_room(Copy& copy, size_t bytes);
  void finish(int slot, int slices);
  bool can_do(int slot) const;
  bool do_slot(int slot);
  bool do_open_slots();
  RankData find_data(int slot);
  [[noreturn]] void throw_late(int slot) const;

  const std::shared_ptr<const Group> group_;
  const int rank_;
  std::vector<Slot> slots_;
  OpenSlots open_;
  std::vector<void*> data_;                            // of each rank, of the slice that is done
  std::vector<std::unique_ptr<SharedMemory>> blocks_;  // of copies; the last is filled next
  size_t filled_ = 0;                                  // bytes of the last block
};

}  // namespace troika
