// Rounds of collectives in shared memory.
#include "comm/processes/memory_communicator.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/error.h"
#include "core/text.h"

namespace troika {
namespace {

constexpr int kMostSlots = 1 << 14;
constexpr size_t kLine = 64;             // bytes: what different ranks write is on different lines
constexpr size_t kLeastBlock = 1 << 20;  // bytes of a block of copies
// A rank that sleeps looks so often whether another process is lost.
constexpr std::chrono::milliseconds kLongestSleep{20};

size_t bytes_of(const Collective& collective) {
  return static_cast<size_t>(collective.count) * size_of(collective.dtype);
}

// An empty tensor has no address, which memcpy does not take.
void copy_bytes(std::byte* to, const std::byte* from, size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

// Copies the pieces that the rank owns, or those of the others.
void copy_pieces(const Collective& collective, int rank, bool owned, const std::byte* from, std::byte* to) {
  for (const OwnedBytes& piece : *collective.pieces)
    if ((piece.owner == rank) == owned) copy_bytes(to + piece.begin, from + piece.begin, piece.end - piece.begin);
}

}  // namespace

// ---- the group's memory ----

size_t MemoryCommunicator::bytes_of_slot(size_t members) {
  static_assert(sizeof(SlotHead) <= kLine && sizeof(RankPart) <= 2 * kLine);
  static_assert(std::atomic<int64_t>::is_always_lock_free);
  return kLine + members * 2 * kLine;
}

MemoryCommunicator::SlotHead& MemoryCommunicator::Group::head(int slot) const {
  return *reinterpret_cast<SlotHead*>(base + kLine + static_cast<size_t>(slot) * bytes_of_slot(processes.size()));
}

MemoryCommunicator::RankPart& MemoryCommunicator::Group::part(int slot, size_t rank) const {
  return *reinterpret_cast<RankPart*>(reinterpret_cast<std::byte*>(&head(slot)) + kLine + rank * 2 * kLine);
}

std::vector<std::unique_ptr<Communicator>> MemoryCommunicator::create(const std::shared_ptr<SharedLink>& link,
                                                                      Exchange& exchange, const std::vector<int>& group,
                                                                      const std::vector<int>& owners,
                                                                      Deadline deadline) {
  const auto made = std::make_shared<Group>();
  made->link = link;
  for (int rank : group) made->processes.push_back(owners[static_cast<size_t>(rank)]);
  const int maker = made->processes.front();
  if (exchange.rank() == maker)
    made->own = SharedMemory::try_create(kLine + size_t{kMostSlots} * bytes_of_slot(group.size()));
  const std::string own_place = made->own ? made->own->place().encode() : "";
  const std::vector<std::string> all = exchange.all_gather("the memory of a group", own_place, deadline);
  const std::string& place = all[static_cast<size_t>(maker)];
  if (place.empty()) return {};
  std::vector<std::unique_ptr<Communicator>> ends(group.size());
  for (size_t rank = 0; rank < group.size(); ++rank) {
    if (made->processes[rank] != exchange.rank()) continue;
    if (!made->base)
      made->base = made->own ? made->own->data() : made->blocks.address(maker, SharedPlace::decode(place));
    ends[rank] = std::unique_ptr<Communicator>(new MemoryCommunicator(made, static_cast<int>(rank)));
  }
  return ends;
}

// ---- copies ----

void MemoryCommunicator::make_room(Copy& copy, size_t bytes) {
  if (copy.data && copy.capacity >= bytes) return;
  const size_t capacity = std::bit_ceil(std::max(bytes, kLine));
  if (blocks_.empty() || filled_ + capacity > static_cast<size_t>(blocks_.back()->place().bytes)) {
    blocks_.push_back(std::make_unique<SharedMemory>(std::max(capacity, kLeastBlock)));
    filled_ = 0;
  }
  copy.data = blocks_.back()->data() + filled_;
  copy.capacity = capacity;
  filled_ += capacity;
}

// Returns the place of the rank's data, or of their copy.
SharedPlace MemoryCommunicator::copy_in(Slot& slot) {
  const Collective& c = slot.collective;
  const size_t bytes = bytes_of(c);
  const std::optional<SharedPlace> found = SharedMemory::find(slot.data);
  slot.copy.is_used = !found || found->offset + static_cast<int64_t>(bytes) > found->bytes;
  if (!slot.copy.is_used) return *found;
  make_room(slot.copy, bytes);
  if (c.kind == CollectiveKind::all_gather)
    copy_pieces(c, rank_, true, slot.data, slot.copy.data);
  else
    copy_bytes(slot.copy.data, slot.data, bytes);
  return SharedMemory::find(slot.copy.data).value();
}

void MemoryCommunicator::copy_out(const Slot& slot) const {
  const Collective& c = slot.collective;
  if (!slot.copy.is_used) return;
  if (c.pieces)
    copy_pieces(c, rank_, c.kind == CollectiveKind::reduce_scatter, slot.copy.data, slot.data);
  else
    copy_bytes(slot.data, slot.copy.data, bytes_of(c));
}

// ---- rounds ----

void MemoryCommunicator::check_usable() const {
  if (const std::string reason = group_->link->failure(); !reason.empty())
    throw Error(Status::comm, text("rank ", rank_, ": the group was aborted: ", reason));
}

void MemoryCommunicator::abort(const std::string& reason) {
  group_->link->abort(reason);
  group_->signal().notify_all();
}

void MemoryCommunicator::reserve(int slots) {
  if (slots > kMostSlots)
    throw Error(Status::unsupported,
                text("a plan has ", slots, " collectives of a group of processes, memory has room for ", kMostSlots,
                     "; set the group's transport to gloo"));
  if (slots_.size() < static_cast<size_t>(slots)) slots_.resize(static_cast<size_t>(slots));
  data_.resize(group_->processes.size());
}

void MemoryCommunicator::start(int index, const Collective& collective, void* data) {
  check_dtype(index, rank_, collective);
  check_usable();
  Slot& slot = slots_.at(static_cast<size_t>(index));
  slot.collective = collective;
  slot.data = static_cast<std::byte*>(data);
  slot.is_slice_done = is_small(collective);
  ++slot.round;
  RankPart& part = group_->part(index, static_cast<size_t>(rank_));
  part.place = copy_in(slot);
  part.count = collective.count;
  part.kind = collective.kind;
  part.dtype = collective.dtype;
  part.started = slot.round;
  open_.add(index);
  if (group_->head(index).started.fetch_add(1) + 1 != all_of_round(slot)) return;
  if (is_small(collective)) {  // this rank is the last: it sums for all
    sum_whole(collective, find_data(index));
    finish(index, size());
  }
  group_->signal().notify_all();
}

// All ranks have started the slot.
RankData MemoryCommunicator::find_data(int index) {
  const Slot& slot = slots_[static_cast<size_t>(index)];
  for (size_t rank = 0; rank < data_.size(); ++rank) {
    const RankPart& part = group_->part(index, rank);
    Collective theirs = slot.collective;
    theirs.kind = part.kind;
    theirs.count = part.count;
    theirs.dtype = part.dtype;
    check_agreement(index, rank_, slot.collective, theirs);
    data_[rank] = static_cast<int>(rank) == rank_ ? (slot.copy.is_used ? slot.copy.data : slot.data)
                                                  : group_->blocks.address(group_->processes[rank], part.place);
  }
  return {data_.data(), data_.size()};
}

void MemoryCommunicator::finish(int index, int slices) {
  SlotHead& head = group_->head(index);
  head.completed = std::chrono::system_clock::now().time_since_epoch().count();
  group_->part(index, static_cast<size_t>(rank_)).done = slots_[static_cast<size_t>(index)].round;
  if (head.done.fetch_add(slices) + slices == all_of_round(slots_[static_cast<size_t>(index)]))
    group_->signal().notify_all();
}

bool MemoryCommunicator::can_do(int index) const {
  const Slot& slot = slots_[static_cast<size_t>(index)];
  return !slot.is_slice_done && group_->head(index).started == all_of_round(slot);
}

bool MemoryCommunicator::do_slot(int index) {
  if (!can_do(index)) return false;
  Slot& slot = slots_[static_cast<size_t>(index)];
  slot.is_slice_done = true;
  do_slice(slot.collective, find_data(index), rank_);
  finish(index, 1);
  return true;
}

bool MemoryCommunicator::do_open_slots() {
  bool worked = false;
  open_.any([&](int index) {
    worked = do_slot(index) || worked;
    return false;
  });
  return worked;
}

void MemoryCommunicator::progress() {
  check_usable();
  do_open_slots();
}

void MemoryCommunicator::wait(int index, Deadline deadline) {
  const Slot& slot = slots_.at(static_cast<size_t>(index));
  const SlotHead& head = group_->head(index);
  SharedSignal& signal = group_->signal();
  while (true) {
    const uint32_t seen = signal.seen();
    if (head.done >= all_of_round(slot)) break;
    check_usable();
    if (do_slot(index) || do_open_slots()) continue;  // helps with a later slot instead of sleeping
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline) throw_late(index);
    signal.sleep(seen, std::min<Deadline>(deadline, now + kLongestSleep));
  }
  copy_out(slot);
  open_.remove(index);
}

void MemoryCommunicator::throw_late(int index) const {
  const Slot& slot = slots_[static_cast<size_t>(index)];
  const bool all_started = group_->head(index).started >= all_of_round(slot);
  std::string who = "no process is late";
  for (size_t rank = group_->processes.size(); rank-- > 0;) {
    const RankPart& part = group_->part(index, rank);
    if ((all_started ? part.done : part.started) >= slot.round) continue;
    who = text("process ", group_->processes[rank], all_started ? " has not done its part" : " has not sent its part");
  }
  throw Error(Status::comm, text(name_of(slot.collective.kind), ' ', index, ": rank ", rank_, " of ", size(),
                                 " waited past the deadline; ", who));
}

std::optional<std::chrono::steady_clock::time_point> MemoryCommunicator::arrival(int slot) const {
  const std::chrono::system_clock::duration completed(group_->head(slot).completed);
  const auto age = std::chrono::system_clock::now().time_since_epoch() - completed;
  return std::chrono::steady_clock::now() - age;
}

}  // namespace troika
