// Who waits for which message.
#include "comm/local/local_messages.h"

#include <cstring>

#include "core/error.h"
#include "core/text.h"

namespace troika {

class LocalMessenger : public Messenger {
 public:
  LocalMessenger(std::shared_ptr<LocalMessages> messages, int rank) : messages_(std::move(messages)), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return messages_->size_; }

  void reserve(int from, int slot, size_t bytes) override {
    std::lock_guard lock(messages_->state_.mutex);
    messages_->messages_[{from, rank_, slot}].data.reserve(bytes);
  }

  void send(int to, int slot, const void* data, size_t bytes, Deadline deadline) override {
    std::unique_lock lock(messages_->state_.mutex);
    LocalMessages::Message& message = messages_->messages_[{rank_, to, slot}];
    await(
        lock, deadline, [&] { return !message.is_there; },
        [&] { return text("to send message ", slot, " to rank ", to, " again, which has not received it"); });
    lock.unlock();  // no other rank touches the message until is_there is set
    message.data.resize(bytes);
    std::memcpy(message.data.data(), data, bytes);
    lock.lock();
    message.is_there = true;
    lock.unlock();
    messages_->state_.notify();
  }

  void receive(int from, int slot, void* data, size_t bytes, Deadline deadline) override {
    std::unique_lock lock(messages_->state_.mutex);
    LocalMessages::Message& message = messages_->messages_[{from, rank_, slot}];
    await(
        lock, deadline, [&] { return message.is_there; },
        [&] { return text("for message ", slot, " of rank ", from); });
    lock.unlock();
    if (message.data.size() != bytes)
      throw Error(Status::internal, text("message ", slot, " of rank ", from, " has ", message.data.size(),
                                         " bytes, rank ", rank_, " needs ", bytes));
    std::memcpy(data, message.data.data(), bytes);
    lock.lock();
    message.is_there = false;
    lock.unlock();
    messages_->state_.notify();
  }

  void abort(const std::string& reason) override { messages_->state_.abort(reason); }

 private:
  // Waits until `condition`. `what` returns the reason for the wait, for a message.
  template <typename Condition, typename What>
  void await(std::unique_lock<std::mutex>& lock, Deadline deadline, Condition condition, What what) {
    messages_->state_.await(lock, deadline, rank_, messages_->size_, condition, what);
  }

  const std::shared_ptr<LocalMessages> messages_;
  const int rank_;
};

std::vector<std::unique_ptr<Messenger>> LocalMessages::create_messengers(int size) {
  const std::shared_ptr<LocalMessages> messages(new LocalMessages(size));
  std::vector<std::unique_ptr<Messenger>> messengers;
  for (int rank = 0; rank < size; ++rank) messengers.push_back(std::make_unique<LocalMessenger>(messages, rank));
  return messengers;
}

}  // namespace troika
