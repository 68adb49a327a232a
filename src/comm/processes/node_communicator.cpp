// The steps of a sum, and the thread between them.
#include "comm/processes/node_communicator.h"

#include "comm/processes/process_parts.h"
#include "core/error.h"
#include "core/named_thread.h"
#include "core/split.h"
#include "core/text.h"

namespace troika {
namespace {

// Smaller sums take one message between each two processes, so they are made by the whole group.
bool is_by_node(const Collective& collective) {
  return collective.kind == CollectiveKind::all_reduce && collective.dtype == DType::f32 &&
         static_cast<size_t>(collective.count) * sizeof(float) > kMostWhole;
}

// The slots of the ends within a machine: two for each slot of the group.
int reduce_slot(int slot) { return 2 * slot; }
int gather_slot(int slot) { return 2 * slot + 1; }

}  // namespace

NodeCommunicator::NodeCommunicator(Ends ends) : ends_of_(std::move(ends)) {
  try {
    for (size_t step = 0; step < threads_.size(); ++step)
      threads_[step] = require_thread("troika nodes", "group", [this, step] { run(step); });
  } catch (...) {
    join();
    throw;
  }
}

NodeCommunicator::~NodeCommunicator() {
  bool is_busy = false;
  {
    std::lock_guard lock(mutex_);
    for (const auto& slot : slots_) is_busy |= slot->started != slot->ended;
  }
  if (is_busy) abort("the group ends");
  join();
}

void NodeCommunicator::join() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

void NodeCommunicator::check_usable() const {
  if (!failure_.empty()) throw Error(Status::comm, text("rank ", rank(), ": the group was aborted: ", failure_));
}

void NodeCommunicator::reserve(int slots) {
  ends_of_.all->reserve(slots);
  ends_of_.within->reserve(2 * slots);
  ends_of_.between->reserve(slots);
  std::lock_guard lock(mutex_);
  while (slots_.size() < static_cast<size_t>(slots)) {
    slots_.push_back(std::make_unique<Slot>());
    slots_.back()->pieces.reserve(static_cast<size_t>(ends_of_.within->size()));
  }
}

void NodeCommunicator::start(int index, const Collective& collective, void* data) {
  Slot* slot = nullptr;
  {
    std::lock_guard lock(mutex_);
    check_usable();
    slot = slots_.at(static_cast<size_t>(index)).get();
    slot->is_by_node = is_by_node(collective);
  }
  if (!slot->is_by_node) return ends_of_.all->start(index, collective, data);
  slot->pieces.clear();
  for (int owner = 0; owner < ends_of_.within->size(); ++owner) {
    const Range elements = balanced_split(collective.count, ends_of_.within->size(), owner);
    slot->pieces.push_back({static_cast<size_t>(elements.begin) * sizeof(float),
                            static_cast<size_t>(elements.end) * sizeof(float), owner});
  }
  slot->data = static_cast<std::byte*>(data);
  ends_of_.within->start(reduce_slot(index), Collective::reduce_scatter(slot->pieces), data);
  {
    std::lock_guard lock(mutex_);
    ++slot->started;
    waiting_[0].push_back(index);
  }
  changed_.notify_all();
}

void NodeCommunicator::progress() {
  ends_of_.all->progress();
  std::lock_guard lock(mutex_);
  check_usable();
}

void NodeCommunicator::wait(int index, Deadline deadline) {
  std::unique_lock lock(mutex_);
  const Slot& slot = *slots_.at(static_cast<size_t>(index));
  if (!slot.is_by_node) {
    lock.unlock();
    return ends_of_.all->wait(index, deadline);
  }
  if (!changed_.wait_until(lock, deadline, [&] { return slot.ended == slot.started || !failure_.empty(); }))
    throw Error(Status::comm, text("all_reduce ", index, ": rank ", rank(), " of ", size(),
                                   " waited past the deadline for another machine, or for a process of its own"));
  if (slot.ended != slot.started) check_usable();
}

void NodeCommunicator::abort(const std::string& reason) {
  {
    std::lock_guard lock(mutex_);
    if (failure_.empty()) store_reason(failure_, reason);
  }
  changed_.notify_all();
  for (Communicator* end : {ends_of_.all.get(), ends_of_.within.get(), ends_of_.between.get()}) end->abort(reason);
}

std::optional<std::chrono::steady_clock::time_point> NodeCommunicator::arrival(int index) const {
  const Slot& slot = *slots_[static_cast<size_t>(index)];
  return slot.is_by_node ? slot.completed : ends_of_.all->arrival(index);
}

// ---- the threads ----

void NodeCommunicator::run(size_t step) {
  constexpr Step kSteps[] = {&NodeCommunicator::sum_between, &NodeCommunicator::gather, &NodeCommunicator::end};
  try {
    while (true) {
      int slot = 0;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ends_ || !failure_.empty() || !waiting_[step].empty(); });
        if (ends_ || !failure_.empty()) return;
        slot = waiting_[step].front();
        waiting_[step].pop_front();
      }
      (this->*kSteps[step])(slot);
      {
        std::lock_guard lock(mutex_);
        if (step + 1 < waiting_.size()) waiting_[step + 1].push_back(slot);
      }
      changed_.notify_all();
    }
  } catch (const std::exception& e) {
    abort(e.what());
  }
}

void NodeCommunicator::sum_between(int index) {
  ends_of_.within->wait(reduce_slot(index), Deadline::max());
  const Slot& slot = *slots_[static_cast<size_t>(index)];
  const OwnedBytes& own = slot.pieces[static_cast<size_t>(ends_of_.within->rank())];
  const auto elements = static_cast<int64_t>((own.end - own.begin) / sizeof(float));
  ends_of_.between->start(index, Collective::all_reduce(DType::f32, elements), slot.data + own.begin);
}

void NodeCommunicator::gather(int index) {
  ends_of_.between->wait(index, Deadline::max());
  const Slot& slot = *slots_[static_cast<size_t>(index)];
  ends_of_.within->start(gather_slot(index), Collective::all_gather(slot.pieces), slot.data);
}

void NodeCommunicator::end(int index) {
  ends_of_.within->wait(gather_slot(index), Deadline::max());
  Slot& slot = *slots_[static_cast<size_t>(index)];
  std::lock_guard lock(mutex_);
  ++slot.ended;
  slot.completed = std::chrono::steady_clock::now();
}

}  // namespace troika
