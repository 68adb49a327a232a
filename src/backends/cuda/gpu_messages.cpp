// Copies of messages, and the events that order them.
#include "backends/cuda/gpu_messages.h"

#include "backends/cuda/check.h"
#include "backends/cuda/peer_access.h"
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
    const cudaEvent_t before = (is_near ? message.received : message.sent).get();
    check_launch(cudaStreamWaitEvent(launches(), before, 0));  // of the round before
    check_launch(cudaMemcpyAsync(message.outbox.get(), data, bytes, cudaMemcpyDeviceToDevice, launches()));
    check_launch(cudaEventRecord((is_near ? message.sent : message.made).get(), launches()));
    if (!is_near) {
      const cudaStream_t side = messages_->streams_[static_cast<size_t>(rank_)].get();
      check_launch(cudaStreamWaitEvent(side, message.made.get(), 0));
      check_launch(cudaStreamWaitEvent(side, message.received.get(), 0));
      check_launch(cudaMemcpyPeerAsync(message.inbox.get(), messages_->device(to).id().index, message.outbox.get(),
                                       messages_->device(rank_).id().index, bytes, side));
      check_launch(cudaEventRecord(message.sent.get(), side));
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
    check_launch(cudaStreamWaitEvent(launches(), message.sent.get(), 0));
    check_launch(cudaMemcpyAsync(data, box, bytes, cudaMemcpyDeviceToDevice, launches()));
    check_launch(cudaEventRecord(message.received.get(), launches()));
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

std::shared_ptr<GpuMessages> GpuMessages::create(std::vector<std::shared_ptr<CudaDevice>> devices) {
  return std::shared_ptr<GpuMessages>(new GpuMessages(std::move(devices)));
}

GpuMessages::GpuMessages(std::vector<std::shared_ptr<CudaDevice>> devices) : devices_(std::move(devices)) {
  for (const auto& device : devices_) {
    streams_.push_back(create_urgent_stream(device->context(), text("device ", device->id())));
    for (const auto& other : devices_) enable_peer_access(*device, *other);
  }
}

GpuMessages::~GpuMessages() {
  for (size_t i = 0; i < devices_.size(); ++i)  // copies may still use the boxes
    end_on(devices_[i]->context(), [&] { cudaStreamSynchronize(streams_[i].get()); });
}

void GpuMessages::reserve(int from, int to, int slot, size_t bytes) {
  std::lock_guard lock(state_.mutex);
  Message& message = messages_[{from, to, slot}];
  const std::string what = text("message ", slot, " of rank ", from, " to rank ", to);
  if (!message.made) message.made = create_event(device(from).context(), what);
  if (!message.sent) message.sent = create_event(device(from).context(), what);
  if (!message.received) message.received = create_event(device(to).context(), what);
  if (bytes <= message.capacity) return;
  // The last copies from the boxes may still be under way.
  check(cudaEventSynchronize(message.sent.get()), what);
  check(cudaEventSynchronize(message.received.get()), what);
  message.capacity = 0;
  message.outbox = devices_[static_cast<size_t>(from)]->allocate(bytes, "a message's outbox");
  if (!share_gpu(from, to)) message.inbox = devices_[static_cast<size_t>(to)]->allocate(bytes, "a message's inbox");
  message.capacity = bytes;
}

std::unique_ptr<Messenger> GpuMessages::messenger(int rank) {
  return std::make_unique<GpuMessenger>(shared_from_this(), rank);
}

}  // namespace troika::cuda
