// Collectives among threads: slices summed in a fixed order.
#include "comm/local/local_group.h"

#include "comm/open_slots.h"
#include "comm/slices.h"
#include "core/error.h"
#include "core/text.h"

namespace troika {

class LocalCommunicator : public Communicator {
 public:
  LocalCommunicator(std::shared_ptr<LocalGroup> group, int rank) : group_(std::move(group)), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return group_->size_; }

  void reserve(int slots) override {
    std::lock_guard lock(group_->state_.mutex);
    while (group_->slots_.size() < static_cast<size_t>(slots))
      group_->slots_.push_back(std::make_unique<LocalGroup::Slot>(group_->size_));
  }

  void start(int slot_index, const Collective& collective, void* data) override {
    check_dtype(slot_index, rank_, collective);
    auto& slot = *group_->slots_.at(static_cast<size_t>(slot_index));
    bool all_started = false;
    {
      std::lock_guard lock(group_->state_.mutex);
      group_->state_.check_usable(rank_);
      // A rank is at most one round ahead: no rank ends a round before all ranks have started it.
      const int64_t round = slot.rounds[static_cast<size_t>(rank_)] + 1;
      const bool is_first = slot.started == (round - 1) * group_->size_;
      if (!is_first) check_agreement(slot_index, rank_, collective, slot.collective);
      slot.collective = collective;
      slot.rounds[static_cast<size_t>(rank_)] = round;
      slot.data[static_cast<size_t>(rank_)] = data;
      slot.slice_done[static_cast<size_t>(rank_)] = is_small(collective);
      all_started = ++slot.started == round * group_->size_;
      if (all_started && is_small(collective)) {
        sum_whole(collective, data_of(slot));
        finish(slot, group_->size_);
      }
    }
    if (all_started) group_->state_.notify();
    open_.add(slot_index);
  }

  void progress() override { do_slices(); }

  void wait(int slot_index, Deadline deadline) override {
    auto& slot = *group_->slots_.at(static_cast<size_t>(slot_index));
    const int64_t before = (slot.rounds[static_cast<size_t>(rank_)] - 1) * group_->size_;
    std::unique_lock lock(group_->state_.mutex);
    while (true) {
      group_->state_.check_usable(rank_);
      if (slot.done >= before + group_->size_) break;
      lock.unlock();
      const bool worked = do_slice(slot_index) || do_slices();  // helps with a later bucket instead of sleeping
      lock.lock();
      if (worked) continue;
      // A start that came in the meantime is seen here, under the lock: no rank sleeps while its
      // own slice is due.
      auto has_changed = [&] { return slot.done >= before + group_->size_ || can_sum_any(); };
      if (!group_->state_.wait_until(lock, deadline, rank_, has_changed))
        throw Error(Status::comm,
                    text(name_of(slot.collective.kind), ' ', slot_index, ": rank ", rank_, " of ", group_->size_,
                         " waited past the deadline; ranks that had started it: ", slot.started - before));
    }
    open_.remove(slot_index);
  }

  void abort(const std::string& reason) override { group_->state_.abort(reason); }

  std::optional<std::chrono::steady_clock::time_point> arrival(int slot_index) const override {
    return group_->slots_[static_cast<size_t>(slot_index)]->completed;
  }

 private:
  // Counts slices that are done. Called under the mutex.
  void finish(LocalGroup::Slot& slot, int slices) const {
    slot.done += slices;
    if (slot.done % group_->size_ == 0) slot.completed = std::chrono::steady_clock::now();
  }

  bool can_sum(int slot_index) const {
    const auto& slot = *group_->slots_[static_cast<size_t>(slot_index)];
    const size_t rank = static_cast<size_t>(rank_);
    return !slot.slice_done[rank] && slot.started.load(std::memory_order_acquire) == slot.rounds[rank] * group_->size_;
  }

  bool can_sum_any() const {
    return open_.any([&](int slot) { return can_sum(slot); });
  }

  bool do_slices() {
    bool worked = false;
    open_.any([&](int slot) {
      worked = do_slice(slot) || worked;
      return false;
    });
    return worked;
  }

  // Sums this rank's slice if all ranks have started the slot and the slice is not done yet.
  bool do_slice(int slot_index) {
    if (!can_sum(slot_index)) return false;
    auto& slot = *group_->slots_[static_cast<size_t>(slot_index)];
    const size_t rank = static_cast<size_t>(rank_);
    slot.slice_done[rank] = 1;
    troika::do_slice(slot.collective, data_of(slot), rank_);
    {
      std::lock_guard lock(group_->state_.mutex);
      finish(slot, 1);
    }
    group_->state_.notify();
    return true;
  }

  static RankData data_of(const LocalGroup::Slot& slot) { return {slot.data.data(), slot.data.size()}; }

  std::shared_ptr<LocalGroup> group_;
  const int rank_;
  OpenSlots open_;
};

std::vector<std::unique_ptr<Communicator>> LocalGroup::create_communicators(int size) {
  const std::shared_ptr<LocalGroup> group(new LocalGroup(size));
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int rank = 0; rank < size; ++rank) communicators.push_back(std::make_unique<LocalCommunicator>(group, rank));
  return communicators;
}

}  // namespace troika
