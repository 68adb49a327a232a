// Messages on a link: a copy on either side.
#include "comm/processes/process_messages.h"

#include <array>
#include <cstring>
#include <map>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace troika {
namespace {

constexpr int kRankBits = 12, kNumberBits = 24;
constexpr std::chrono::seconds kTimeToSend{5};

// The sender's copy of a message, or the receiver's.
struct Parcel {
  std::vector<std::byte> data;
  std::unique_ptr<LinkBuffer> buffer;
  bool is_under_way = false;

  void make_room(SharedLink& link, int process, size_t bytes) {
    if (buffer && data.size() >= bytes) return;
    buffer.reset();
    data.resize(bytes);
    buffer = link.create_buffer(process, data.data(), data.size());
  }
};

class ProcessMessenger : public Messenger {
 public:
  // `local_ranks`: by position, the rank in the local group; -1 if another process holds it.
  ProcessMessenger(std::shared_ptr<SharedLink> link, int id, int rank, std::vector<int> processes,
                   std::vector<int> local_ranks, std::unique_ptr<Messenger> local)
      : link_(std::move(link)),
        id_(static_cast<uint64_t>(id)),
        rank_(rank),
        processes_(std::move(processes)),
        local_ranks_(std::move(local_ranks)),
        local_(std::move(local)) {}
  ~ProcessMessenger() override {
    for (const auto& [key, parcel] : sent_)
      if (parcel.is_under_way && !is_aborted_) parcel_end(parcel);
  }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(processes_.size()); }

  void reserve(int from, int slot, size_t bytes) override {
    if (const int local = local_ranks_[static_cast<size_t>(from)]; local >= 0)
      return local_->reserve(local, slot, bytes);
    received_[{from, slot}].make_room(*link_, processes_[static_cast<size_t>(from)], bytes);
  }

  void send(int to, int slot, const void* data, size_t bytes, Deadline deadline) override {
    if (const int local = local_ranks_[static_cast<size_t>(to)]; local >= 0)
      return local_->send(local, slot, data, bytes, deadline);
    Parcel& parcel = sent_[{to, slot}];
    if (std::exchange(parcel.is_under_way, false) && !parcel.buffer->wait_sent(deadline))
      throw_late(text("to send message ", slot, " to rank ", to, " again, which has not received it"));
    parcel.make_room(*link_, processes_[static_cast<size_t>(to)], bytes);
    std::memcpy(parcel.data.data(), data, bytes);
    parcel.buffer->send(tag(rank_, to, slot), 0, bytes);
    parcel.is_under_way = true;
  }

  void receive(int from, int slot, void* data, size_t bytes, Deadline deadline) override {
    if (const int local = local_ranks_[static_cast<size_t>(from)]; local >= 0)
      return local_->receive(local, slot, data, bytes, deadline);
    Parcel& parcel = received_[{from, slot}];
    parcel.make_room(*link_, processes_[static_cast<size_t>(from)], bytes);
    parcel.buffer->receive(tag(from, rank_, slot), 0, bytes);
    if (!parcel.buffer->wait_received(deadline)) throw_late(text("for message ", slot, " of rank ", from));
    std::memcpy(data, parcel.data.data(), bytes);
  }

  void abort(const std::string& reason) override {
    is_aborted_ = true;
    if (local_) local_->abort(reason);
    link_->abort(reason);
  }

 private:
  uint64_t tag(int from, int to, int slot) const {
    return ((id_ << kRankBits | static_cast<uint64_t>(from)) << kRankBits | static_cast<uint64_t>(to)) << kNumberBits |
           static_cast<uint64_t>(slot);
  }
  [[noreturn]] void throw_late(const std::string& what) const {
    throw Error(Status::comm, text("rank ", rank_, " of ", size(), " waited past the deadline ", what));
  }
  static void parcel_end(const Parcel& parcel) {
    try {
      parcel.buffer->wait_sent(std::chrono::steady_clock::now() + kTimeToSend);
    } catch (const Error&) {  // the group was aborted
    }
  }

  const std::shared_ptr<SharedLink> link_;
  const uint64_t id_;
  const int rank_;
  const std::vector<int> processes_;  // by position
  const std::vector<int> local_ranks_;
  const std::unique_ptr<Messenger> local_;
  std::atomic<bool> is_aborted_ = false;
  std::map<std::array<int, 2>, Parcel> sent_, received_;  // by rank and slot
};

}  // namespace

std::vector<std::unique_ptr<Messenger>> create_process_messengers(const std::shared_ptr<SharedLink>& link, int id,
                                                                  const std::vector<int>& group,
                                                                  const std::vector<int>& owners,
                                                                  std::vector<std::unique_ptr<Messenger>> local) {
  std::vector<int> processes, local_ranks;
  int held = 0;
  for (int rank : group) {
    processes.push_back(owners[static_cast<size_t>(rank)]);
    local_ranks.push_back(processes.back() == link->process() ? held++ : -1);
  }
  std::vector<std::unique_ptr<Messenger>> ends(group.size());
  for (size_t position = 0; position < group.size(); ++position)
    if (const int own = local_ranks[position]; own >= 0)
      ends[position] = std::make_unique<ProcessMessenger>(link, id, static_cast<int>(position), processes, local_ranks,
                                                          std::move(local[static_cast<size_t>(own)]));
  return ends;
}

}  // namespace troika
