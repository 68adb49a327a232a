// The copies, and the thread between them.
#include "backends/cuda/staged_communicator.h"

#include <algorithm>

#include "backends/cuda/check.h"
#include "core/named_thread.h"
#include "core/text.h"

namespace troika::cuda {
namespace {

size_t bytes_of(const Collective& collective) {
  if (!collective.pieces) return static_cast<size_t>(collective.count) * size_of(collective.dtype);
  size_t bytes = 0;
  for (const OwnedBytes& piece : *collective.pieces) bytes = std::max(bytes, piece.end);
  return bytes;
}

// Calls f(begin, bytes) for the bytes that the rank passes to the others, or for the bytes of its
// result.
template <typename F>
void for_each_range(const Collective& collective, int rank, bool is_result, F f) {
  if (!collective.pieces) return f(size_t{0}, bytes_of(collective));
  const bool own_only = is_result == (collective.kind == CollectiveKind::reduce_scatter);
  for (const OwnedBytes& piece : *collective.pieces)
    if (piece.begin < piece.end && (!own_only || piece.owner == rank)) f(piece.begin, piece.end - piece.begin);
}

}  // namespace

StagedCommunicator::StagedCommunicator(std::shared_ptr<CudaDevice> device, std::unique_ptr<Communicator> host)
    : device_(std::move(device)), host_(std::move(host)), side_(create_urgent_stream(device_->context(), name())) {
  thread_ = require_thread("troika staging", name(), [this] { run(); });
}

StagedCommunicator::~StagedCommunicator() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
  end_on(device_->context(), [&] { cudaStreamSynchronize(side_.get()); });  // copies use the memory
}

std::string StagedCommunicator::name() const {
  return text("device ", device_->id(), ": rank ", rank(), " of ", size(), ", whose sums are made by the host");
}

void StagedCommunicator::check_usable() const {
  if (!failure_.empty()) throw Error(Status::comm, text("rank ", rank(), ": the group was aborted: ", failure_));
}

void StagedCommunicator::reserve(int slots) {
  host_->reserve(slots);
  std::lock_guard lock(mutex_);
  while (slots_.size() < static_cast<size_t>(slots)) {
    auto slot = std::make_unique<Slot>();
    for (Event* event : {&slot->ready, &slot->copied, &slot->done}) *event = create_event(device_->context(), name());
    slots_.push_back(std::move(slot));
  }
}

// The first round of a slot allocates the memory.
void StagedCommunicator::start(int index, const Collective& collective, void* data) {
  check_dtype(index, rank(), collective);
  std::lock_guard lock(mutex_);
  check_usable();
  Slot& slot = *slots_.at(static_cast<size_t>(index));
  if (const size_t bytes = bytes_of(collective); bytes > slot.capacity) {
    check_launch(cudaEventSynchronize(slot.done.get()));  // the last copy may still be under way
    slot.capacity = 0;
    slot.copy = allocate_pinned(device_->context(), bytes, name());
    slot.capacity = bytes;
  }
  slot.collective = collective;
  slot.data = static_cast<std::byte*>(data);
  check_launch(cudaEventRecord(slot.ready.get(), device_->stream()));
  check_launch(cudaStreamWaitEvent(side_.get(), slot.ready.get(), 0));
  for_each_range(collective, rank(), false, [&](size_t begin, size_t bytes) {
    check_launch(cudaMemcpyAsync(slot.copy.get() + begin, slot.data + begin, bytes, cudaMemcpyDeviceToHost, side_.get()));
  });
  check_launch(cudaEventRecord(slot.copied.get(), side_.get()));
  ++slot.started;
  to_begin_.push_back(index);
  changed_.notify_all();
}

void StagedCommunicator::progress() {
  std::lock_guard lock(mutex_);
  check_usable();
}

void StagedCommunicator::wait(int index, Deadline deadline) {
  std::unique_lock lock(mutex_);
  const Slot& slot = *slots_.at(static_cast<size_t>(index));
  if (!changed_.wait_until(lock, deadline, [&] { return slot.ended == slot.started || !failure_.empty(); }))
    throw Error(Status::comm, text(name_of(slot.collective.kind), ' ', index, ": rank ", rank(), " of ", size(),
                                   " waited past the deadline"));
  if (slot.ended != slot.started) check_usable();
  check_launch(cudaStreamWaitEvent(device_->stream(), slot.done.get(), 0));
}

void StagedCommunicator::abort(const std::string& reason) {
  host_->abort(reason);
  {
    std::lock_guard lock(mutex_);
    if (failure_.empty()) store_reason(failure_, reason);
  }
  changed_.notify_all();
}

// ---- the thread ----

void StagedCommunicator::run() {
  std::deque<int> begun;  // in the host's hands
  try {
    const ContextGuard guard(*device_->context());
    while (true) {
      std::deque<int> next;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ends_ || !failure_.empty() || !to_begin_.empty() || !begun.empty(); });
        if (ends_ || !failure_.empty()) return;
        next.swap(to_begin_);
      }
      for (int index : next) {
        begin(index);
        begun.push_back(index);
      }
      end(begun.front());
      begun.pop_front();
    }
  } catch (const std::exception& e) {
    abort(e.what());
  }
}

void StagedCommunicator::begin(int index) {
  Slot& slot = *slots_[static_cast<size_t>(index)];
  check_launch(cudaEventSynchronize(slot.copied.get()));
  host_->start(index, slot.collective, slot.copy.get());
}

void StagedCommunicator::end(int index) {
  Slot& slot = *slots_[static_cast<size_t>(index)];
  host_->wait(index, Deadline::max());
  for_each_range(slot.collective, rank(), true, [&](size_t begin, size_t bytes) {
    check_launch(cudaMemcpyAsync(slot.data + begin, slot.copy.get() + begin, bytes, cudaMemcpyHostToDevice, side_.get()));
  });
  check_launch(cudaEventRecord(slot.done.get(), side_.get()));
  {
    std::lock_guard lock(mutex_);
    ++slot.ended;
  }
  changed_.notify_all();
}

}  // namespace troika::cuda
