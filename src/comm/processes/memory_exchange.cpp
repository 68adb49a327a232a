// Arrivals, and the way to the hub.
#include "comm/processes/memory_exchange.h"

#include <algorithm>
#include <cstring>

#include "core/packed.h"

namespace troika {
namespace {

constexpr std::chrono::milliseconds kUsual{100};  // that a process waits for the others before it goes to the hub
constexpr size_t kHead = 64;                      // bytes of the signal, and what follows begins on a line of its own

// A word of arrivals: the round, a bit for the hub, the number of processes that have come.
constexpr int kRoundShift = 32;
constexpr uint64_t kHub = uint64_t{1} << 31;
uint64_t round_of(uint64_t word) { return word >> kRoundShift; }
uint64_t count_of(uint64_t word) { return word & (kHub - 1); }

}  // namespace

std::shared_ptr<Exchange> MemoryExchange::create(std::shared_ptr<Exchange> hub, Deadline deadline) {
  const std::shared_ptr<MemoryExchange> made(new MemoryExchange(hub));
  const size_t bytes = kHead + 2 * (sizeof(Arrivals) + static_cast<size_t>(hub->size()) * sizeof(Message));
  if (hub->rank() == 0) made->own_ = SharedMemory::try_create(bytes);
  const std::string place = made->own_ ? made->own_->place().encode() : "";
  const std::vector<std::string> all = hub->all_gather("the memory of rounds", place, deadline);
  if (all[0].empty()) return hub;
  made->base_ = made->own_ ? made->own_->data() : made->blocks_.address(0, SharedPlace::decode(all[0]));
  return made;
}

MemoryExchange::Arrivals& MemoryExchange::arrivals() const {
  return reinterpret_cast<Arrivals*>(base_ + kHead)[round_ % 2];
}

MemoryExchange::Message& MemoryExchange::message(int process) const {
  return reinterpret_cast<Message*>(base_ + kHead + 2 * sizeof(Arrivals))[2 * process + static_cast<int>(round_ % 2)];
}

bool MemoryExchange::is_complete(uint64_t word) const { return count_of(word) == static_cast<uint64_t>(size()); }

// Returns false if the round passes through the hub. The word still has the round before the last:
// no process begins a round before all have come to the one before.
bool MemoryExchange::arrive() {
  std::atomic<uint64_t>& word = arrivals().word;
  uint64_t seen = word;
  uint64_t next = 0;
  do {
    const bool is_first = round_of(seen) != round_;
    if (!is_first && (seen & kHub)) return false;
    next = is_first ? (round_ << kRoundShift) + 1 : seen + 1;
  } while (!word.compare_exchange_weak(seen, next));
  if (is_complete(next)) reinterpret_cast<SharedSignal*>(base_)->notify_all();
  return true;
}

// Returns false if all have come meanwhile.
bool MemoryExchange::pass_to_hub() const {
  std::atomic<uint64_t>& word = arrivals().word;
  for (uint64_t seen = word; !is_complete(seen);)
    if ((seen & kHub) || word.compare_exchange_weak(seen, seen | kHub)) {
      reinterpret_cast<SharedSignal*>(base_)->notify_all();
      return true;
    }
  return false;
}

void MemoryExchange::begin(const std::string& what, const std::string& said, Deadline deadline) {
  // A group that has failed says so. A forked child does not have the memory.
  is_with_hub_ = generation_ != fork_generation() || !hub_->failure().empty();
  if (is_with_hub_) return hub_->begin(what, said, deadline);
  ++round_;
  what_ = what;
  said_ = said;
  Message& own = message(rank());
  const std::string bytes = Packer().text(what).text(said).bytes();
  own.size = bytes.size() <= kRoom ? static_cast<int64_t>(bytes.size()) : -1;
  if (own.size >= 0) std::memcpy(own.bytes, bytes.data(), bytes.size());
  is_with_hub_ = !arrive();
  if (is_with_hub_) hub_->begin(what, said, deadline);
}

std::vector<std::string> MemoryExchange::end(Deadline deadline) {
  if (is_with_hub_) return hub_->end(deadline);
  SharedSignal& signal = *reinterpret_cast<SharedSignal*>(base_);
  const Deadline patience = std::min<Deadline>(deadline, std::chrono::steady_clock::now() + kUsual);
  while (true) {
    const uint32_t seen = signal.seen();
    const uint64_t word = arrivals().word;
    if (is_complete(word)) break;
    const bool is_late = std::chrono::steady_clock::now() >= patience;
    if ((word & kHub) || (is_late && pass_to_hub())) return hub_->all_gather(what_, said_, deadline);
    if (!is_late) signal.sleep(seen, patience);
  }
  std::vector<std::string> messages;
  for (int process = 0; process < size(); ++process) {
    const Message& theirs = message(process);
    if (theirs.size < 0) return hub_->all_gather(what_, said_, deadline);
    Unpacker unpacker({theirs.bytes, static_cast<size_t>(theirs.size)});
    if (unpacker.text() != what_) return hub_->all_gather(what_, said_, deadline);
    messages.push_back(unpacker.text());
  }
  return messages;
}

}  // namespace troika
