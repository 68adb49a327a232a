// The copies, and the thread that sends.
#include "backends/cuda/staged_messenger.h"

#include <algorithm>

#include "backends/cuda/check.h"
#include "core/named_thread.h"
#include "core/text.h"

namespace troika::cuda {

StagedMessenger::StagedMessenger(std::shared_ptr<CudaDevice> device, std::unique_ptr<Messenger> host)
    : device_(std::move(device)), host_(std::move(host)) {
  thread_ = require_thread("troika staging", name(), [this] { run(); });
}

StagedMessenger::~StagedMessenger() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
  end_on(device_->context(), [&] {  // copies use the memory
    for (const auto* boxes : {&inboxes_, &outboxes_})
      for (const auto& [key, box] : *boxes) cudaEventSynchronize(box.copied.get());
  });
}

std::string StagedMessenger::name() const {
  return text("device ", device_->id(), ": messages of rank ", rank(), " of ", size());
}

void StagedMessenger::check_usable() const {
  if (!failure_.empty()) throw Error(Status::comm, text("rank ", rank(), ": the group was aborted: ", failure_));
}

void StagedMessenger::make_room(Box& box, size_t bytes) const {
  if (!box.copied) box.copied = create_event(device_->context(), name());
  if (bytes <= box.capacity) return;
  check_launch(cudaEventSynchronize(box.copied.get()));  // the last copy may still be under way
  box.capacity = 0;
  box.memory = allocate_pinned(device_->context(), bytes, name());
  box.capacity = bytes;
}

void StagedMessenger::reserve(int from, int slot, size_t bytes) {
  host_->reserve(from, slot, bytes);
  make_room(inboxes_[{from, slot}], bytes);
}

// The first message of a slot allocates the memory.
void StagedMessenger::send(int to, int slot, const void* data, size_t bytes, Deadline deadline) {
  const Key key{to, slot};
  std::unique_lock lock(mutex_);
  const auto is_free = [&] {
    return std::none_of(sendings_.begin(), sendings_.end(), [&](const Sending& s) { return s.key == key; });
  };
  if (!changed_.wait_until(lock, deadline, [&] { return is_free() || !failure_.empty(); }))
    throw Error(Status::comm, text("rank ", rank(), " of ", size(), " waited past the deadline to send message ", slot,
                                   " to rank ", to, " again"));
  check_usable();
  Box& box = outboxes_[key];
  make_room(box, bytes);
  check_launch(cudaMemcpyAsync(box.memory.get(), data, bytes, cudaMemcpyDeviceToHost, device_->stream()));
  check_launch(cudaEventRecord(box.copied.get(), device_->stream()));
  sendings_.push_back({key, bytes, deadline});
  changed_.notify_all();
}

void StagedMessenger::receive(int from, int slot, void* data, size_t bytes, Deadline deadline) {
  Box& box = inboxes_[{from, slot}];
  make_room(box, bytes);
  check_launch(cudaEventSynchronize(box.copied.get()));  // of the message before
  host_->receive(from, slot, box.memory.get(), bytes, deadline);
  check_launch(cudaMemcpyAsync(data, box.memory.get(), bytes, cudaMemcpyHostToDevice, device_->stream()));
  check_launch(cudaEventRecord(box.copied.get(), device_->stream()));
}

void StagedMessenger::abort(const std::string& reason) {
  host_->abort(reason);
  {
    std::lock_guard lock(mutex_);
    if (failure_.empty()) store_reason(failure_, reason);
  }
  changed_.notify_all();
}

void StagedMessenger::run() {
  try {
    const ContextGuard guard(*device_->context());
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return ends_ || !failure_.empty() || !sendings_.empty(); });
      if (!failure_.empty() || sendings_.empty()) return;
      const Sending next = sendings_.front();
      const Box& box = outboxes_[next.key];
      lock.unlock();
      check_launch(cudaEventSynchronize(box.copied.get()));
      host_->send(next.key[0], next.key[1], box.memory.get(), next.bytes, next.deadline);
      lock.lock();
      sendings_.pop_front();
      changed_.notify_all();
    }
  } catch (const std::exception& e) {
    abort(e.what());
  }
}

}  // namespace troika::cuda
