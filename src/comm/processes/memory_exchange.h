// Rounds of messages among the processes of one machine, in the memory that they share.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "comm/processes/foreign_blocks.h"
#include "core/process_state.h"
#include "core/shared_signal.h"
#include "group/exchange.h"

namespace troika {

// A round passes through the hub if it is not usual: a message is long, calls differ, or a process
// comes late. The hub's errors name who is late, and who has left the group.
class MemoryExchange : public Exchange {
 public:
  // All processes of `hub` can map each other's memory. Returns the hub if the memory cannot be
  // had. Collective over the hub. COMM.
  static std::shared_ptr<Exchange> create(std::shared_ptr<Exchange> hub, Deadline deadline);

  std::vector<std::string> all_gather(const std::string& what, const std::string& message, Deadline deadline) override {
    begin(what, message, deadline);
    return end(deadline);
  }
  void begin(const std::string& what, const std::string& message, Deadline deadline) override;
  std::vector<std::string> end(Deadline deadline) override;
  void on_failure(Member::Failed failed) override { hub_->on_failure(std::move(failed)); }
  std::string failure() const override { return hub_->failure(); }
  void abort(const std::string& reason) noexcept override { hub_->abort(reason); }

 private:
  explicit MemoryExchange(std::shared_ptr<Exchange> hub) : Exchange(hub->rank(), hub->size()), hub_(std::move(hub)) {}

  static constexpr size_t kRoom = 512;  // bytes of a usual message, with the name of its call

  // ---- in shared memory, zeroed at first; of rounds with even or with odd numbers ----
  // A round's place is free two rounds later: no process ends a round before all have ended the
  // round before. So each `begin` needs its `end`.
  struct Arrivals {
    std::atomic<uint64_t> word;  // the round, whether it passes through the hub, who has come
    char padding[64 - sizeof(uint64_t)];
  };
  struct Message {
    int64_t size;  // -1: longer than the room
    char bytes[kRoom];
  };

  Arrivals& arrivals() const;
  Message& message(int process) const;
  bool is_complete(uint64_t word) const;
  bool arrive();
  bool pass_to_hub() const;

  const std::shared_ptr<Exchange> hub_;
  ForeignBlocks blocks_;
  std::unique_ptr<SharedMemory> own_;  // the memory, if this process made it
  std::byte* base_ = nullptr;
  const uint32_t generation_ = fork_generation();
  uint64_t round_ = 0;
  std::string what_, said_;   // of the round in progress
  bool is_with_hub_ = false;  // it has begun there
};

}  // namespace troika
