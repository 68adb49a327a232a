// Collectives between processes: who sends what, and the order of sums.
#include "comm/processes/process_sums.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/named_thread.h"
#include "core/text.h"

namespace troika {
namespace {

constexpr int64_t kLine = 64;            // bytes of a cache line, at which slices meet
constexpr size_t kMostWhole = 32 * 1024;  // bytes of a bucket that more than two processes send whole

// Parts go to the process that sums them; sums go from there to all. The low bits of a message's
// tag.
enum Phase : int { kParts = 0, kSums = 1 };
constexpr int kPhaseBits = 1, kSlotBits = 31;

bool owns(const std::vector<size_t>& positions, size_t first, size_t end) {
  for (size_t at = first; at < end; ++at)
    if (std::find(positions.begin(), positions.end(), at) == positions.end()) return false;
  return true;
}

}  // namespace

// ---- the ends ----

class ProcessCommunicator : public Communicator {
 public:
  ProcessCommunicator(std::shared_ptr<ProcessSums> sums, size_t local) : sums_(std::move(sums)), local_(local) {}
  int rank() const override { return sums_->rank_of(local_); }
  int size() const override { return static_cast<int>(sums_->size_); }
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
  void abort(const std::string& reason) override { sums_->abort(reason); }

 private:
  const std::shared_ptr<ProcessSums> sums_;
  const size_t local_;  // of the local ranks
};

std::vector<std::unique_ptr<Communicator>> ProcessSums::create_communicators(std::shared_ptr<SharedLink> link, int id,
                                                                             const std::vector<int>& group,
                                                                             const std::vector<int>& owners) {
  std::vector<std::unique_ptr<Communicator>> ends(group.size());
  const std::shared_ptr<ProcessSums> sums(new ProcessSums(std::move(link), id, group, owners));
  for (size_t local = 0; local < sums->own().positions.size(); ++local)
    ends[sums->own().positions[local]] = std::make_unique<ProcessCommunicator>(sums, local);
  return ends;
}

ProcessSums::ProcessSums(std::shared_ptr<SharedLink> link, int id, const std::vector<int>& group,
                         const std::vector<int>& owners)
    : link_(std::move(link)), id_(static_cast<uint64_t>(id)), size_(group.size()) {
  for (size_t position = 0; position < group.size(); ++position) {
    const int process = owners[static_cast<size_t>(group[position])];
    auto found = std::find_if(parts_.begin(), parts_.end(), [&](const Part& part) { return part.process == process; });
    if (found == parts_.end()) found = parts_.insert(found, Part{process, {}, {}});
    found->positions.push_back(position);
  }
  for (Part& part : parts_) {
    const std::function<void(size_t, size_t)> find = [&](size_t first, size_t width) {
      if (first >= size_) return;
      if (owns(part.positions, first, std::min(first + width, size_))) return part.nodes.push_back({first, width});
      if (width == 1) return;
      find(first, width / 2);
      find(first + width / 2, width / 2);
    };
    find(0, std::bit_ceil(size_));
  }
  while (parts_[own_].process != link_->process()) ++own_;
  thread_ = named_thread("troika sums", [this] { run(); });
}

ProcessSums::~ProcessSums() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
    if (!to_combine_.empty() || !to_complete_.empty()) link_->abort("the group ends");
  }
  changed_.notify_all();
  thread_.join();
}

void ProcessSums::reserve(int slots) {
  std::lock_guard lock(mutex_);
  while (slots_.size() < static_cast<size_t>(slots)) {
    auto slot = std::make_unique<Slot>();
    slot->data.resize(own().positions.size());
    slot->rank_rounds.resize(own().positions.size());
    for (std::vector<Lane>* lanes : {&slot->outgoing, &slot->incoming, &slot->results}) lanes->resize(parts_.size());
    slots_.push_back(std::move(slot));
  }
}

void ProcessSums::check_usable(size_t local) const {
  if (!failure_.empty()) throw Error(Status::comm, text("rank ", rank_of(local), ": the group was aborted: ", failure_));
}

void ProcessSums::abort(const std::string& reason) {
  {
    std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = reason;
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
  ++slot.rounds;
  // Nobody else touches the slot before it is in the list.
  lock.unlock();
  begin(index, slot);
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
  throw Error(Status::comm, text(name_of(slot.collective.kind), ' ', index, ": rank ", rank_of(local), " of ", size_,
                                 " waited past the deadline; ",
                                 slot.started > 0 ? "another rank of this process has not started it"
                                                  : waits_for_.empty() ? "the sum is late" : waits_for_));
}

// ---- messages ----

template <typename F>
void ProcessSums::for_each_other(F f) const {
  for (size_t part = 0; part < parts_.size(); ++part)
    if (part != own_) f(part);
}

// Returns the lane with a buffer for that memory.
ProcessSums::Lane& ProcessSums::lane(std::vector<Lane>& lanes, size_t part, void* data, size_t bytes) {
  Lane& lane = lanes[part];
  if (!lane.buffer || lane.data != data || lane.bytes != bytes) {
    lane.buffer = link_->create_buffer(parts_[part].process, data, bytes);
    lane.data = data;
    lane.bytes = bytes;
  }
  return lane;
}

void ProcessSums::send(Lane& lane, int index, int phase, size_t offset, size_t bytes) {
  if (bytes == 0) return;
  lane.buffer->send(id_ << (kSlotBits + kPhaseBits) | static_cast<uint64_t>(index) << kPhaseBits | phase, offset, bytes);
  ++lane.sends;
}

void ProcessSums::receive(Lane& lane, int index, int phase, size_t offset, size_t bytes) {
  if (bytes == 0) return;
  lane.buffer->receive(id_ << (kSlotBits + kPhaseBits) | static_cast<uint64_t>(index) << kPhaseBits | phase, offset,
                       bytes);
  ++lane.receives;
}

void ProcessSums::wait_sent(std::vector<Lane>& lanes) {
  for (Lane& lane : lanes)
    for (; lane.sends > 0; --lane.sends) lane.buffer->wait_sent();
}

void ProcessSums::wait_received(std::vector<Lane>& lanes) {
  for (size_t part = 0; part < lanes.size(); ++part) {
    if (lanes[part].receives == 0) continue;
    {
      std::lock_guard lock(mutex_);
      waits_for_ = text("process ", parts_[part].process, " has not sent its part");
    }
    for (; lanes[part].receives > 0; --lanes[part].receives) lanes[part].buffer->wait_received();
  }
  std::lock_guard lock(mutex_);
  waits_for_.clear();
}

// ---- sums ----

bool ProcessSums::is_whole(const Collective& collective) const {
  return parts_.size() == 2 || collective.count * static_cast<int64_t>(size_of(collective.dtype)) <= int64_t{kMostWhole};
}

Range ProcessSums::slice_of(const Collective& collective, size_t part) const {
  if (is_whole(collective)) return {0, collective.count};
  const int64_t elements = kLine / static_cast<int64_t>(size_of(collective.dtype));
  const int64_t lines = (collective.count + elements - 1) / elements;
  const Range range = balanced_split(lines, static_cast<int64_t>(parts_.size()), static_cast<int64_t>(part));
  return {std::min(range.begin * elements, collective.count), std::min(range.end * elements, collective.count)};
}

// Writes the sums of this process's nodes, one node after another.
template <typename T>
void ProcessSums::sum_nodes(const Slot& slot, Range elements, std::byte* to) const {
  std::vector<const void*> data(size_, nullptr);
  for (size_t local = 0; local < slot.data.size(); ++local) data[own().positions[local]] = slot.data[local];
  for (const Node& node : own().nodes) {
    T* const sums = reinterpret_cast<T*>(to);
    sum_node<T>({data.data(), nullptr, size_}, node.first, node.width, elements.begin, elements.end,
                [&](const T* sum, int64_t at, int64_t m) { std::copy(sum, sum + m, sums + (at - elements.begin)); });
    to += static_cast<size_t>(elements.size()) * sizeof(T);
  }
}

// Sums the elements over all ranks, into all local ranks or into `owner`. `parts`: the sums of the
// other processes' nodes, one node after another.
template <typename T>
void ProcessSums::sum_elements(Slot& slot, Range elements, const std::vector<const std::byte*>& parts, int owner) const {
  std::vector<const void*> data(size_, nullptr);
  std::vector<size_t> widths(size_, 1);
  for (size_t part = 0; part < parts_.size(); ++part) {
    if (part == own_) {
      for (size_t local = 0; local < slot.data.size(); ++local)
        data[own().positions[local]] = static_cast<const T*>(slot.data[local]) + elements.begin;
      continue;
    }
    const std::byte* sums = parts[part];
    for (const Node& node : parts_[part].nodes) {
      data[node.first] = sums;
      widths[node.first] = node.width;
      sums += static_cast<size_t>(elements.size()) * sizeof(T);
    }
  }
  sum_all<T>({data.data(), widths.data(), size_}, 0, elements.size(), [&](const T* sum, int64_t at, int64_t m) {
    for (size_t local = 0; local < slot.data.size(); ++local)
      if (owner < 0 || rank_of(local) == owner)
        std::copy(sum, sum + m, static_cast<T*>(slot.data[local]) + elements.begin + at);
  });
}

// ---- the steps of a collective ----

void ProcessSums::begin(int index, Slot& slot) {
  switch (slot.collective.kind) {
    case CollectiveKind::all_reduce: return begin_all_reduce(index, slot);
    case CollectiveKind::all_gather: return begin_gather(index, slot);
    case CollectiveKind::reduce_scatter: return begin_scatter(index, slot);
    case CollectiveKind::all_of: return begin_flags(index, slot);
  }
}

void ProcessSums::begin_all_reduce(int index, Slot& slot) {
  const Collective& c = slot.collective;
  const size_t size = size_of(c.dtype), bytes = static_cast<size_t>(c.count) * size;
  const size_t own_bytes = static_cast<size_t>(slice_of(c, own_).size()) * size;
  size_t received = 0;
  for_each_other([&](size_t part) { received += parts_[part].nodes.size() * own_bytes; });
  slot.received.resize(std::max(slot.received.size(), received));
  const bool is_single = own().positions.size() == 1;
  if (!is_single) slot.sent.resize(std::max(slot.sent.size(), own().nodes.size() * bytes));
  size_t sent_at = 0, received_at = 0;
  for_each_other([&](size_t part) {
    const Range theirs = slice_of(c, part);
    Lane& in = lane(slot.incoming, part, slot.received.data(), slot.received.size());
    receive(in, index, kParts, received_at, parts_[part].nodes.size() * own_bytes);
    received_at += parts_[part].nodes.size() * own_bytes;
    if (is_single) {
      Lane& out = lane(slot.outgoing, part, slot.data[0], bytes);
      send(out, index, kParts, static_cast<size_t>(theirs.begin) * size, static_cast<size_t>(theirs.size()) * size);
    } else {
      const size_t sent = own().nodes.size() * static_cast<size_t>(theirs.size()) * size;
      if (!is_whole(c) || sent_at == 0) {
        with_sum_type(c.dtype, [&](auto zero) { sum_nodes<decltype(zero)>(slot, theirs, slot.sent.data() + sent_at); });
        if (!is_whole(c)) sent_at += sent;
      }
      Lane& out = lane(slot.outgoing, part, slot.sent.data(), slot.sent.size());
      send(out, index, kParts, is_whole(c) ? 0 : sent_at - sent, sent);
      if (is_whole(c)) sent_at = sent;  // the same part goes to all
    }
    if (is_whole(c)) return;
    Lane& result = lane(slot.results, part, slot.data[0], bytes);
    receive(result, index, kSums, static_cast<size_t>(theirs.begin) * size, static_cast<size_t>(theirs.size()) * size);
  });
}

void ProcessSums::combine_all_reduce(int index, Slot& slot) {
  const Collective& c = slot.collective;
  const size_t size = size_of(c.dtype);
  const Range elements = slice_of(c, own_);
  wait_received(slot.incoming);
  if (is_whole(c)) wait_sent(slot.outgoing);  // the sum overwrites what is sent
  std::vector<const std::byte*> parts(parts_.size(), nullptr);
  size_t at = 0;
  for_each_other([&](size_t part) {
    parts[part] = slot.received.data() + at;
    at += parts_[part].nodes.size() * static_cast<size_t>(elements.size()) * size;
  });
  with_sum_type(c.dtype, [&](auto zero) { sum_elements<decltype(zero)>(slot, elements, parts, -1); });
  if (is_whole(c)) return;
  for_each_other([&](size_t part) {
    Lane& result = slot.results[part];
    send(result, index, kSums, static_cast<size_t>(elements.begin) * size, static_cast<size_t>(elements.size()) * size);
  });
}

// Every process sends what its ranks own to all others.
void ProcessSums::begin_gather(int index, Slot& slot) {
  const size_t bytes = static_cast<size_t>(slot.collective.count);
  for (const OwnedBytes& piece : *slot.collective.pieces) {
    const auto local = std::find(own().positions.begin(), own().positions.end(), static_cast<size_t>(piece.owner));
    if (local != own().positions.end()) {
      auto* const data = static_cast<std::byte*>(slot.data[static_cast<size_t>(local - own().positions.begin())]);
      for_each_other([&](size_t part) {
        // Ranks of this process have buffers of their own; a lane serves one buffer at a time.
        Lane& out = slot.outgoing[part];
        if (out.buffer && out.data != data)
          for (; out.sends > 0; --out.sends) out.buffer->wait_sent();
        send(lane(slot.outgoing, part, data, bytes), index, kParts, piece.begin, piece.end - piece.begin);
      });
    } else {
      for_each_other([&](size_t part) {
        const std::vector<size_t>& theirs = parts_[part].positions;
        if (std::find(theirs.begin(), theirs.end(), static_cast<size_t>(piece.owner)) == theirs.end()) return;
        receive(lane(slot.incoming, part, slot.data[0], bytes), index, kParts, piece.begin, piece.end - piece.begin);
      });
    }
  }
}

void ProcessSums::begin_scatter(int index, Slot& slot) {
  const std::vector<OwnedBytes>& pieces = *slot.collective.pieces;
  auto bytes_of = [&](size_t part) {
    size_t bytes = 0;
    for (const OwnedBytes& piece : pieces)
      if (owns(parts_[part].positions, static_cast<size_t>(piece.owner), static_cast<size_t>(piece.owner) + 1))
        bytes += piece.end - piece.begin;
    return bytes;
  };
  size_t received = 0, sent = 0;
  for_each_other([&](size_t part) {
    received += parts_[part].nodes.size() * bytes_of(own_);
    sent += own().nodes.size() * bytes_of(part);
  });
  slot.received.resize(std::max(slot.received.size(), received));
  slot.sent.resize(std::max(slot.sent.size(), sent));
  sent = received = 0;
  for_each_other([&](size_t part) {
    const size_t in = parts_[part].nodes.size() * bytes_of(own_), first = sent;
    receive(lane(slot.incoming, part, slot.received.data(), slot.received.size()), index, kParts, received, in);
    received += in;
    for (const OwnedBytes& piece : pieces) {
      if (!owns(parts_[part].positions, static_cast<size_t>(piece.owner), static_cast<size_t>(piece.owner) + 1)) continue;
      const Range elements{static_cast<int64_t>(piece.begin / sizeof(float)),
                           static_cast<int64_t>(piece.end / sizeof(float))};
      sum_nodes<float>(slot, elements, slot.sent.data() + sent);
      sent += own().nodes.size() * (piece.end - piece.begin);
    }
    send(lane(slot.outgoing, part, slot.sent.data(), slot.sent.size()), index, kParts, first, sent - first);
  });
}

void ProcessSums::combine_scatter(Slot& slot) {
  wait_received(slot.incoming);
  std::vector<const std::byte*> parts(parts_.size(), nullptr);
  size_t own_bytes = 0, at = 0;
  const auto is_own = [&](const OwnedBytes& piece) {
    return owns(own().positions, static_cast<size_t>(piece.owner), static_cast<size_t>(piece.owner) + 1);
  };
  for (const OwnedBytes& piece : *slot.collective.pieces)
    if (is_own(piece)) own_bytes += piece.end - piece.begin;
  for_each_other([&](size_t part) {
    parts[part] = slot.received.data() + at;
    at += parts_[part].nodes.size() * own_bytes;
  });
  for (const OwnedBytes& piece : *slot.collective.pieces) {
    if (!is_own(piece)) continue;
    const Range elements{static_cast<int64_t>(piece.begin / sizeof(float)),
                         static_cast<int64_t>(piece.end / sizeof(float))};
    sum_elements<float>(slot, elements, parts, piece.owner);
    for_each_other([&](size_t part) { parts[part] += parts_[part].nodes.size() * (piece.end - piece.begin); });
  }
}

// A flag of all local ranks goes to every process.
void ProcessSums::begin_flags(int index, Slot& slot) {
  int32_t own_flag = 1;
  for (const void* data : slot.data) own_flag = own_flag && *static_cast<const int32_t*>(data) != 0;
  slot.sent.resize(std::max(slot.sent.size(), sizeof own_flag));
  slot.received.resize(std::max(slot.received.size(), parts_.size() * sizeof own_flag));
  std::memcpy(slot.sent.data(), &own_flag, sizeof own_flag);
  for_each_other([&](size_t part) {
    receive(lane(slot.incoming, part, slot.received.data(), slot.received.size()), index, kParts,
            part * sizeof own_flag, sizeof own_flag);
    send(lane(slot.outgoing, part, slot.sent.data(), slot.sent.size()), index, kParts, 0, sizeof own_flag);
  });
}

void ProcessSums::combine_flags(Slot& slot) {
  wait_received(slot.incoming);
  int32_t all = 0;
  std::memcpy(&all, slot.sent.data(), sizeof all);
  for_each_other([&](size_t part) {
    int32_t flag = 0;
    std::memcpy(&flag, slot.received.data() + part * sizeof flag, sizeof flag);
    all = all && flag;
  });
  for (void* data : slot.data) *static_cast<int32_t*>(data) = all;
}

void ProcessSums::combine(int index, Slot& slot) {
  switch (slot.collective.kind) {
    case CollectiveKind::all_reduce: return combine_all_reduce(index, slot);
    case CollectiveKind::all_gather: return wait_received(slot.incoming);
    case CollectiveKind::reduce_scatter: return combine_scatter(slot);
    case CollectiveKind::all_of: return combine_flags(slot);
  }
}

// Copies what came from other processes to all local ranks.
void ProcessSums::complete(Slot& slot) {
  const Collective& c = slot.collective;
  auto copy = [&](size_t from, size_t to, size_t begin, size_t end) {
    std::memcpy(static_cast<std::byte*>(slot.data[to]) + begin, static_cast<const std::byte*>(slot.data[from]) + begin,
                end - begin);
  };
  wait_received(slot.results);
  if (c.kind == CollectiveKind::all_reduce && !is_whole(c))
    for_each_other([&](size_t part) {
      const Range elements = slice_of(c, part);
      const size_t size = size_of(c.dtype);
      for (size_t local = 1; local < slot.data.size(); ++local)
        copy(0, local, static_cast<size_t>(elements.begin) * size, static_cast<size_t>(elements.end) * size);
    });
  if (c.kind == CollectiveKind::all_gather) {
    for (const OwnedBytes& piece : *c.pieces) {
      const auto found = std::find(own().positions.begin(), own().positions.end(), static_cast<size_t>(piece.owner));
      const size_t from = found == own().positions.end() ? 0 : static_cast<size_t>(found - own().positions.begin());
      for (size_t local = 0; local < slot.data.size(); ++local)
        if (local != from) copy(from, local, piece.begin, piece.end);
    }
  }
  for (std::vector<Lane>* lanes : {&slot.outgoing, &slot.results}) wait_sent(*lanes);
}

// ---- the thread ----

// Parts are combined before sums are waited for, so that no process waits for another that waits
// for a later bucket.
void ProcessSums::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ends_ || !to_combine_.empty() || !to_complete_.empty(); });
    if (ends_) return;
    const bool combines = !to_combine_.empty();
    std::deque<int>& list = combines ? to_combine_ : to_complete_;
    const int index = list.front();
    Slot& slot = *slots_[static_cast<size_t>(index)];
    lock.unlock();
    try {
      combines ? combine(index, slot) : complete(slot);
    } catch (const std::exception& e) {
      abort(e.what());
      lock.lock();
      changed_.wait(lock, [&] { return ends_; });
      return;
    }
    lock.lock();
    list.pop_front();
    if (combines)
      to_complete_.push_back(index);
    else
      ++slot.done;
    changed_.notify_all();
  }
}

}  // namespace troika
