// Who copies what, behind which event.
#include "backends/cuda/gpu_messages.h"

#include "backends/cuda/check.h"
#include "backends/cuda/peer_access.h"
#include "backends/cuda/urgent_stream.h"
#include "core/text.h"

namespace troika::cuda {

class GpuMessenger : public Messenger {
 public:
  GpuMessenger(std::shared_ptr<GpuMessages> messages, int rank) : messages_(std::move(messages)), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(messages_->devices_.size()); }

  void reserve(int from, int slot, size_t bytes) override { messages_->reserve(from, rank_, slot, bytes); }

  // An event that was never recorded is not waited for.
  void send(int to, int slot, const void* data, size_t bytes, Deadline deadline) override {
    std::unique_lock lock(messages_->state_.mutex);
    GpuMessages::Message& message = find(rank_, to, slot);
    await(
        lock, deadline, [&] { return !message.is_there; },
        [&] { return text("to send message ", slot, " to rank ", to, " again, which has not received it"); });
    if (bytes > message.capacity)
      throw Error(Status::internal,
                  text("message ", slot, " to rank ", to, " has ", bytes, " bytes, room is for ", message.capacity));
    const bool is_near = messages_->share_gpu(rank_, to);
    check_launch(cudaStreamWaitEvent(launches(), is_near ? message.received : message.sent, 0));  // of the round before
    check_launch(cudaMemcpyAsync(message.outbox.get(), data, bytes, cudaMemcpyDeviceToDevice, launches()));
    check_launch(cudaEventRecord(is_near ? message.sent : message.made, launches()));
    if (!is_near) {
      const cudaStream_t side = messages_->streams_[static_cast<size_t>(rank_)];
      check_launch(cudaStreamWaitEvent(side, message.made, 0));
      check_launch(cudaStreamWaitEvent(side, message.received, 0));
      check_launch(cudaMemcpyPeerAsync(message.inbox.get(), messages_->device(to).id().index, message.outbox.get(),
                                       messages_->device(rank_).id().index, bytes, side));
      check_launch(cudaEventRecord(message.sent, side));
    }
    message.bytes = bytes;
    message.is_there = true;
    messages_->state_.notify();
  }

  void receive(int from, int slot, void* data, size_t bytes, Deadline deadline) override {
    std::unique_lock lock(messages_->state_.mutex);
    GpuMessages::Message& message = find(from, rank_, slot);
    await(
        lock, deadline, [&] { return message.is_there; },
        [&] { return text("for message ", slot, " of rank ", from); });
    if (message.bytes != bytes)
      throw Error(Status::internal, text("message ", slot, " of rank ", from, " has ", message.bytes, " bytes, rank ",
                                         rank_, " needs ", bytes));
    const std::byte* const box = (messages_->share_gpu(from, rank_) ? message.outbox : message.inbox).get();
    check_launch(cudaStreamWaitEvent(launches(), message.sent, 0));
    check_launch(cudaMemcpyAsync(data, box, bytes, cudaMemcpyDeviceToDevice, launches()));
    check_launch(cudaEventRecord(message.received, launches()));
    message.is_there = false;
    messages_->state_.notify();
  }

  void abort(const std::string& reason) override { messages_->state_.abort(reason); }

 private:
  cudaStream_t launches() const { return messages_->device(rank_).stream(); }

  GpuMessages::Message& find(int from, int to, int slot) {
    const auto found = messages_->messages_.find({from, to, slot});
    if (found == messages_->messages_.end())
      throw Error(Status::internal, text("message ", slot, " of rank ", from, " to rank ", to, " has no room"));
    return found->second;
  }

  // Until `condition`; `what` says for what in a message.
  template <typename Condition, typename What>
  void await(std::unique_lock<std::mutex>& lock, Deadline deadline, Condition condition, What what) {
    messages_->state_.await(lock, deadline, rank_, size(), condition, what);
  }

  const std::shared_ptr<GpuMessages> messages_;
  const int rank_;
};

namespace {

cudaEvent_t create_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "a CUDA event");
  return event;
}

}  // namespace

std::shared_ptr<GpuMessages> GpuMessages::create(std::vector<std::shared_ptr<CudaDevice>> devices) {
  return std::shared_ptr<GpuMessages>(new GpuMessages(std::move(devices)));
}

GpuMessages::GpuMessages(std::vector<std::shared_ptr<CudaDevice>> devices)
    : devices_(std::move(devices)), streams_(devices_.size(), nullptr) {
  for (size_t i = 0; i < devices_.size(); ++i) {
    const ContextGuard guard(devices_[i]->context());
    streams_[i] = create_urgent_stream(text("device ", devices_[i]->id()));
    for (const auto& other : devices_) enable_peer_access(*devices_[i], *other);
  }
}

GpuMessages::~GpuMessages() {
  try {
    for (size_t i = 0; i < devices_.size(); ++i) {
      const ContextGuard guard(devices_[i]->context());
      if (streams_[i]) cudaStreamSynchronize(streams_[i]);
      if (streams_[i]) cudaStreamDestroy(streams_[i]);
    }
    for (auto& [key, message] : messages_)
      for (const auto& [event, rank] :
           {std::pair(message.made, key[0]), std::pair(message.sent, key[0]), std::pair(message.received, key[1])}) {
        const ContextGuard guard(device(rank).context());
        if (event) cudaEventDestroy(event);
      }
  } catch (const Error&) {  // the driver is gone, and everything with it
  }
}

void GpuMessages::reserve(int from, int to, int slot, size_t bytes) {
  std::lock_guard lock(state_.mutex);
  Message& message = messages_[{from, to, slot}];
  auto on = [&](int rank) { return ContextGuard(device(rank).context()); };
  if (!message.sent) {
    const auto sender = on(from);
    message.made = create_event();
    message.sent = create_event();
  }
  if (!message.received) {
    const auto receiver = on(to);
    message.received = create_event();
  }
  if (bytes <= message.capacity) return;
  // The last copies from the boxes may still be under way.
  check(cudaEventSynchronize(message.sent), "a message");
  check(cudaEventSynchronize(message.received), "a message");
  message.capacity = 0;
  message.outbox = devices_[static_cast<size_t>(from)]->allocate(bytes, "a message's outbox");
  if (!share_gpu(from, to)) message.inbox = devices_[static_cast<size_t>(to)]->allocate(bytes, "a message's inbox");
  message.capacity = bytes;
}

std::unique_ptr<Messenger> GpuMessages::messenger(int rank) {
  return std::make_unique<GpuMessenger>(shared_from_this(), rank);
}

}  // namespace troika::cuda
