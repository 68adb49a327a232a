// Collectives among threads: slices summed in a fixed order.
#include "comm/local/local_group.h"

#include <algorithm>
#include <cstring>

#include "comm/pairwise_sum.h"
#include "core/error.h"
#include "core/split.h"
#include "core/text.h"

namespace troika {
namespace {

constexpr int64_t kMostSmall = 64;  // elements of a sum that one rank computes alone

// Sums column [begin, end) of `n` buffers in pairs, then pairs of pairs. Writes the sum into each
// buffer, or only into that of `owner`.
template <typename T>
void sum_slice(void* const* buffers, size_t n, int64_t begin, int64_t end, int owner = -1) {
  sum_all<T>({buffers, nullptr, n}, begin, end, [&](const T* sum, int64_t at, int64_t m) {
    for (size_t r = 0; r < n; ++r)
      if (owner < 0 || r == static_cast<size_t>(owner)) std::copy(sum, sum + m, static_cast<T*>(buffers[r]) + at);
  });
}

}  // namespace

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
      const bool is_small = collective.kind == CollectiveKind::all_reduce && collective.count <= kMostSmall;
      slot.slice_done[static_cast<size_t>(rank_)] = is_small;
      all_started = ++slot.started == round * group_->size_;
      // Slices of a few numbers would cost more wake-ups than work: the last rank sums all.
      if (all_started && is_small) {
        reduce(slot, {0, collective.count});
        finish(slot, group_->size_);
      }
    }
    if (all_started) group_->state_.notify();
    if (slot_index >= open_end_) open_end_ = slot_index + 1;
    if (slot_index < open_begin_) open_begin_ = slot_index;
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
    if (slot_index == open_begin_) ++open_begin_;
    if (open_begin_ >= open_end_) open_begin_ = kNone, open_end_ = 0;
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
    for (int i = open_begin_; i < open_end_; ++i)
      if (can_sum(i)) return true;
    return false;
  }

  bool do_slices() {
    bool worked = false;
    for (int i = open_begin_; i < open_end_; ++i) worked = do_slice(i) || worked;
    return worked;
  }

  // Sums this rank's slice if all ranks have started the slot and the slice is not done yet.
  bool do_slice(int slot_index) {
    if (!can_sum(slot_index)) return false;
    auto& slot = *group_->slots_[static_cast<size_t>(slot_index)];
    const size_t rank = static_cast<size_t>(rank_);
    slot.slice_done[rank] = 1;
    switch (slot.collective.kind) {
      case CollectiveKind::all_reduce:
        if (group_->size_ > 1) reduce(slot);
        break;
      case CollectiveKind::all_gather: gather(slot); break;
      case CollectiveKind::reduce_scatter: scatter(slot); break;
      case CollectiveKind::all_of:
        if (rank_ == 0) combine_flags(slot);
        break;
    }
    {
      std::lock_guard lock(group_->state_.mutex);
      finish(slot, 1);
    }
    group_->state_.notify();
    return true;
  }

  // No other rank reads or writes this rank's slice.
  void reduce(const LocalGroup::Slot& slot) const {
    with_sum_type(slot.collective.dtype, [&](auto zero) {
      constexpr int64_t kElements = kCacheLine / static_cast<int64_t>(sizeof zero);
      const int64_t count = slot.collective.count, lines = (count + kElements - 1) / kElements;
      const Range range = balanced_split(lines, group_->size_, rank_);
      reduce(slot, {range.begin * kElements, std::min(range.end * kElements, count)});
    });
  }

  static void reduce(const LocalGroup::Slot& slot, Range elements) {
    with_sum_type(slot.collective.dtype, [&](auto zero) {
      sum_slice<decltype(zero)>(slot.data.data(), slot.data.size(), elements.begin, elements.end);
    });
  }

  // No rank writes the pieces that it owns, or changes its buffer before all ranks have copied.
  void gather(const LocalGroup::Slot& slot) const {
    auto* const own = static_cast<std::byte*>(slot.data[static_cast<size_t>(rank_)]);
    for (const OwnedBytes& piece : *slot.collective.pieces) {
      if (piece.owner == rank_) continue;
      const auto* const theirs = static_cast<const std::byte*>(slot.data[static_cast<size_t>(piece.owner)]);
      std::memcpy(own + piece.begin, theirs + piece.begin, piece.end - piece.begin);
    }
  }

  // No other rank reads what this rank owns.
  void scatter(const LocalGroup::Slot& slot) const {
    constexpr auto kSize = static_cast<int64_t>(sizeof(float));
    for (const OwnedBytes& piece : *slot.collective.pieces)
      if (piece.owner == rank_)
        sum_slice<float>(slot.data.data(), slot.data.size(), static_cast<int64_t>(piece.begin) / kSize,
                         static_cast<int64_t>(piece.end) / kSize, rank_);
  }

  // No rank touches a flag before this has ended.
  static void combine_flags(const LocalGroup::Slot& slot) {
    int32_t all = 1;
    for (const void* data : slot.data) all = all && *static_cast<const int32_t*>(data) != 0;
    for (void* data : slot.data) *static_cast<int32_t*>(data) = all;
  }

  static constexpr int kNone = 1 << 30;
  std::shared_ptr<LocalGroup> group_;
  const int rank_;
  // All slots that this rank has started and not yet waited for are in [open_begin_, open_end_).
  int open_begin_ = kNone, open_end_ = 0;
};

std::vector<std::unique_ptr<Communicator>> LocalGroup::create_communicators(int size) {
  const std::shared_ptr<LocalGroup> group(new LocalGroup(size));
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int rank = 0; rank < size; ++rank) communicators.push_back(std::make_unique<LocalCommunicator>(group, rank));
  return communicators;
}

}  // namespace troika
