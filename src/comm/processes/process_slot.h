// One collective between processes at a time: the messages that it sends, and the sums of parts.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/processes/process_parts.h"
#include "comm/processes/shared_link.h"

namespace troika {

// The elements of a bucket are cut over the processes. Each process sends its part of every other
// process's slice there, sums its own slice once all parts are there, and sends the sum to all. So
// each element is summed once, in the order of ranks: in pairs, then pairs of pairs, as within one
// process. A process with several ranks sends the sums of whole nodes of that tree. Small buckets,
// and those of two processes, are sent whole and summed everywhere: one message instead of two.
class ProcessSlot {
 public:
  // Called with the process that has to send next; -1: none.
  using WaitsFor = std::function<void(int process)>;

  // Both must outlive it. `tag` belongs to this slot; the next one does, too.
  ProcessSlot(SharedLink& link, const ProcessParts& parts, uint64_t tag)
      : link_(link), parts_(parts), tag_(tag), outgoing_(parts.size()), incoming_(parts.size()), results_(parts.size()) {}

  // Each step is called once per round, in this order. `data`: of each local rank; it stays in
  // place until the last step. COMM if the link fails.
  void begin(const Collective& collective, const std::vector<void*>& data);  // waits for nothing
  void combine(const WaitsFor& waits_for);   // waits for the parts of the others
  void complete(const WaitsFor& waits_for);  // waits for the sums of the others
  // Whether the last step waits for another process.
  bool awaits_sums() const { return collective_.kind == CollectiveKind::all_reduce && !parts_.is_whole(collective_); }

 private:
  // Messages with another process. A buffer belongs to the memory at its address.
  struct Lane {
    std::unique_ptr<LinkBuffer> buffer;
    const void* data = nullptr;
    size_t bytes = 0;
    int sends = 0, receives = 0;  // that have begun
  };
  using Lanes = std::vector<Lane>;  // by part

  // Whether the process's part travels in 16 bits: the elements of its only rank.
  bool packs(size_t part) const { return collective_.is_bf16 && parts_[part].positions.size() == 1; }
  size_t bytes_of_part(size_t part, const Range& elements) const;
  void write_part(const Range& elements, std::byte* to) const;
  Lane& result_lane(size_t part);
  size_t result_size() const;  // of an element
  size_t result_offset(const Range& elements) const { return static_cast<size_t>(elements.begin) * result_size(); }
  size_t result_bytes(const Range& elements) const { return static_cast<size_t>(elements.size()) * result_size(); }
  void begin_all_reduce();
  void begin_gather();
  void begin_scatter();
  void begin_flags();
  void combine_all_reduce();
  void combine_scatter();
  void combine_flags();
  void copy(size_t from, size_t to, size_t begin, size_t end) const;

  Lane& lane(Lanes& lanes, size_t part, void* data, size_t bytes);
  void send(Lane& lane, int phase, size_t offset, size_t bytes);
  void receive(Lane& lane, int phase, size_t offset, size_t bytes);
  void wait_sent(Lanes& lanes);
  void wait_received(Lanes& lanes, const WaitsFor& waits_for);

  SharedLink& link_;
  const ProcessParts& parts_;
  const uint64_t tag_;
  Collective collective_;
  std::vector<void*> data_;
  std::vector<std::byte> sent_, received_;  // parts of sums on their way
  std::vector<float> unpacked_;             // parts that came in 16 bits
  std::vector<uint16_t> sums_;              // on their way in 16 bits
  Lanes outgoing_, incoming_, results_;
  std::vector<Lanes> owned_;  // by local rank: for the pieces that it owns
};

}  // namespace troika
