// The ends of a group of processes, and its thread.
#include "comm/processes/process_sums.h"

#include <algorithm>

#include "core/error.h"
#include "core/named_thread.h"
#include "core/text.h"

namespace troika {
namespace {

constexpr int kSlotBits = 31, kPhaseBits = 1;  // of a message's tag

}  // namespace

class ProcessCommunicator : public Communicator {
 public:
  ProcessCommunicator(std::shared_ptr<ProcessSums> sums, size_t local) : sums_(std::move(sums)), local_(local) {}
  int rank() const override { return sums_->rank_of(local_); }
  int size() const override { return static_cast<int>(sums_->parts_.ranks()); }
  void reserve(int slots) override { sums_->reserve(slots); }
  void start(int slot, const Collective& collective, void* data) override {
    check_dtype(slot, rank(), collective);
    sums_->start(slot, local_, collective, data);
  }
  void progress() override {
    std::lock_guard lock(sums_->mutex_);
    sums_->check_usable(local_);
  }
  void wait(int slot, Deadline deadline) override { sums_->wait(slot, local_, deadline); }
  bool completes_alone() const override { return true; }  // the group has threads
  void abort(const std::string& reason) override { sums_->abort(reason); }
  std::optional<std::chrono::steady_clock::time_point> arrival(int slot) const override {
    return sums_->slots_[static_cast<size_t>(slot)]->completed;
  }

 private:
  const std::shared_ptr<ProcessSums> sums_;
  const size_t local_;  // of the local ranks
};

std::vector<std::unique_ptr<Communicator>> ProcessSums::create_communicators(std::shared_ptr<SharedLink> link, int id,
                                                                             const std::vector<int>& group,
                                                                             const std::vector<int>& owners) {
  std::vector<std::unique_ptr<Communicator>> ends(group.size());
  const std::shared_ptr<ProcessSums> sums(new ProcessSums(std::move(link), id, group, owners));
  for (size_t local = 0; local < sums->parts_.own().positions.size(); ++local)
    ends[sums->parts_.own().positions[local]] = std::make_unique<ProcessCommunicator>(sums, local);
  return ends;
}

ProcessSums::ProcessSums(std::shared_ptr<SharedLink> link, int id, const std::vector<int>& group,
                         const std::vector<int>& owners)
    : link_(std::move(link)), id_(static_cast<uint64_t>(id)), parts_(group, owners, link_->process()) {
  try {
    combiner_ = require_thread("troika sums", "group", [this] { run(true); });
    if (parts_.size() > 2) completer_ = require_thread("troika sums", "group", [this] { run(false); });
  } catch (...) {
    join();
    throw;
  }
}

ProcessSums::~ProcessSums() {
  {
    std::lock_guard lock(mutex_);
    if (!to_combine_.empty() || !to_complete_.empty()) link_->abort("the group ends");
  }
  join();
}

void ProcessSums::join() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread* thread : {&combiner_, &completer_})
    if (thread->joinable()) thread->join();
}

void ProcessSums::reserve(int slots) {
  std::lock_guard lock(mutex_);
  while (slots_.size() < static_cast<size_t>(slots)) {
    const uint64_t tag = id_ << (kSlotBits + kPhaseBits) | static_cast<uint64_t>(slots_.size()) << kPhaseBits;
    auto slot = std::make_unique<Slot>(*link_, parts_, tag);
    slot->data.resize(parts_.own().positions.size());
    slot->rank_rounds.resize(parts_.own().positions.size());
    slots_.push_back(std::move(slot));
  }
}

void ProcessSums::check_usable(size_t local) const {
  if (!failure_.empty()) throw Error(Status::comm, text("rank ", rank_of(local), ": the group was aborted: ", failure_));
}

void ProcessSums::abort(const std::string& reason) noexcept {
  {
    std::lock_guard lock(mutex_);
    if (failure_.empty()) store_reason(failure_, reason);
  }
  changed_.notify_all();
  link_->abort(reason);
}

void ProcessSums::start(int index, size_t local, const Collective& collective, void* data) {
  std::unique_lock lock(mutex_);
  check_usable(local);
  Slot& slot = *slots_.at(static_cast<size_t>(index));
  if (slot.started > 0) check_agreement(index, rank_of(local), collective, slot.collective);
  slot.collective = collective;
  slot.data[local] = data;
  ++slot.rank_rounds[local];
  if (static_cast<size_t>(++slot.started) < slot.data.size()) return;
  slot.started = 0;
  // Nobody else touches the slot before it is in the list.
  lock.unlock();
  slot.steps.begin(slot.collective, slot.data);
  lock.lock();
  to_combine_.push_back(index);
  lock.unlock();
  changed_.notify_all();
}

void ProcessSums::wait(int index, size_t local, Deadline deadline) {
  std::unique_lock lock(mutex_);
  const Slot& slot = *slots_.at(static_cast<size_t>(index));
  const int64_t round = slot.rank_rounds[local];
  changed_.wait_until(lock, deadline, [&] { return slot.done >= round || !failure_.empty(); });
  if (slot.done >= round) return;
  check_usable(local);
  const int late = std::max(waits_for_[0], waits_for_[1]);
  throw Error(Status::comm,
              text(name_of(slot.collective.kind), ' ', index, ": rank ", rank_of(local), " of ", parts_.ranks(),
                   " waited past the deadline; ",
                   slot.started > 0 ? "another rank of this process has not started it"
                   : late < 0         ? "the sum is late"
                                      : text("process ", late, " has not sent its part")));
}

// ---- the threads ----

void ProcessSums::run(bool combines) {
  const ProcessSlot::WaitsFor waits_for = [this, combines](int process) {
    std::lock_guard lock(mutex_);
    waits_for_[combines ? 0 : 1] = process;
  };
  std::deque<int>& list = combines ? to_combine_ : to_complete_;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ends_ || !list.empty(); });
    if (ends_) return;
    const int index = list.front();
    Slot& slot = *slots_[static_cast<size_t>(index)];
    lock.unlock();
    bool is_complete = true;
    try {
      if (combines) slot.steps.combine(waits_for);
      is_complete = !combines || !slot.steps.awaits_sums();
      if (is_complete) slot.steps.complete(waits_for);
    } catch (const std::exception& e) {
      std::string reason;
      store_reason(reason, e.what());
      abort(reason);
      lock.lock();
      changed_.wait(lock, [&] { return ends_; });
      return;
    }
    lock.lock();
    list.pop_front();
    if (is_complete) {
      ++slot.done;
      slot.completed = std::chrono::steady_clock::now();
    } else {
      to_complete_.push_back(index);
    }
    changed_.notify_all();
  }
}

}  // namespace troika
