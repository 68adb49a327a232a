// The steps of a collective between processes.
#include "comm/processes/process_slot.h"

#include <algorithm>
#include <cstring>

#include "core/float16.h"

namespace troika {
namespace {

// Parts go to the process that sums them; sums go from there to all.
enum Phase : int { kParts = 0, kSums = 1 };

Range elements_of(const OwnedBytes& piece) {
  return {static_cast<int64_t>(piece.begin / sizeof(float)), static_cast<int64_t>(piece.end / sizeof(float))};
}

void pack_bf16(const float* from, int64_t count, uint16_t* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = bf16_of_float(from[i]);
}

void unpack_bf16(const uint16_t* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = float_of_bf16(from[i]);
}

}  // namespace

// ---- messages ----

// Returns the lane with a buffer for that memory.
ProcessSlot::Lane& ProcessSlot::lane(Lanes& lanes, size_t part, void* data, size_t bytes) {
  Lane& lane = lanes[part];
  if (!lane.buffer || lane.data != data || lane.bytes != bytes) {
    lane.buffer = link_.create_buffer(parts_[part].process, data, bytes);
    lane.data = data;
    lane.bytes = bytes;
  }
  return lane;
}

void ProcessSlot::send(Lane& lane, int phase, size_t offset, size_t bytes) {
  if (bytes == 0) return;
  lane.buffer->send(tag_ + static_cast<uint64_t>(phase), offset, bytes);
  ++lane.sends;
}

void ProcessSlot::receive(Lane& lane, int phase, size_t offset, size_t bytes) {
  if (bytes == 0) return;
  lane.buffer->receive(tag_ + static_cast<uint64_t>(phase), offset, bytes);
  ++lane.receives;
}

void ProcessSlot::wait_sent(Lanes& lanes) {
  for (Lane& lane : lanes)
    for (; lane.sends > 0; --lane.sends) lane.buffer->wait_sent();
}

void ProcessSlot::wait_received(Lanes& lanes, const WaitsFor& waits_for) {
  for (size_t part = 0; part < lanes.size(); ++part) {
    if (lanes[part].receives == 0) continue;
    waits_for(parts_[part].process);
    for (; lanes[part].receives > 0; --lanes[part].receives) lanes[part].buffer->wait_received();
  }
  waits_for(-1);
}

void ProcessSlot::copy(size_t from, size_t to, size_t begin, size_t end) const {
  if (begin == end) return;  // an empty tensor has no address
  std::memcpy(static_cast<std::byte*>(data_[to]) + begin, static_cast<const std::byte*>(data_[from]) + begin,
              end - begin);
}

// ---- all_reduce ----

// The bytes of a process's part of some elements.
size_t ProcessSlot::bytes_of_part(size_t part, const Range& elements) const {
  return parts_[part].nodes.size() * static_cast<size_t>(elements.size()) * (packs(part) ? sizeof(uint16_t) : size_of(collective_.dtype));
}

void ProcessSlot::begin_all_reduce() {
  const Collective& c = collective_;
  const size_t size = size_of(c.dtype), bytes = static_cast<size_t>(c.count) * size, own = parts_.own_index();
  const Range all{0, c.count}, own_slice = parts_.slice_of(c, own);
  size_t received = 0;
  parts_.for_each_other([&](size_t part) { received += bytes_of_part(part, own_slice); });
  received_.resize(std::max(received_.size(), received));
  const bool is_direct = parts_.own().positions.size() == 1 && !packs(own);
  if (!is_direct) sent_.resize(std::max(sent_.size(), bytes_of_part(own, all)));
  if (c.is_bf16 && !parts_.is_whole(c)) sums_.resize(std::max(sums_.size(), static_cast<size_t>(c.count)));
  size_t sent_at = 0, received_at = 0;
  parts_.for_each_other([&](size_t part) {
    const Range theirs = parts_.slice_of(c, part);
    Lane& in = lane(incoming_, part, received_.data(), received_.size());
    receive(in, kParts, received_at, bytes_of_part(part, own_slice));
    received_at += bytes_of_part(part, own_slice);
    const size_t sent = bytes_of_part(own, theirs);
    if (is_direct) {
      send(lane(outgoing_, part, data_[0], bytes), kParts, static_cast<size_t>(theirs.begin) * size, sent);
    } else {
      const bool goes_to_all = parts_.is_whole(c);
      if (!goes_to_all || sent_at == 0) write_part(theirs, sent_.data() + sent_at);
      send(lane(outgoing_, part, sent_.data(), sent_.size()), kParts, goes_to_all ? 0 : sent_at, sent);
      sent_at += sent;
    }
    if (!parts_.is_whole(c)) receive(result_lane(part), kSums, result_offset(theirs), result_bytes(theirs));
  });
}

// Writes this process's part: its only rank's elements in 16 bits, or the sums of its nodes.
void ProcessSlot::write_part(const Range& elements, std::byte* to) const {
  if (packs(parts_.own_index()))
    return pack_bf16(static_cast<const float*>(data_[0]) + elements.begin, elements.size(), reinterpret_cast<uint16_t*>(to));
  with_sum_type(collective_.dtype, [&](auto zero) { parts_.sum_nodes<decltype(zero)>(data_, elements, to); });
}

void ProcessSlot::combine_all_reduce() {
  const Collective& c = collective_;
  const Range elements = parts_.slice_of(c, parts_.own_index());
  if (parts_.is_whole(c)) wait_sent(outgoing_);  // the sum overwrites what is sent
  std::vector<const std::byte*> parts(parts_.size(), nullptr);
  if (c.is_bf16) unpacked_.resize(std::max(unpacked_.size(), parts_.size() * static_cast<size_t>(elements.size())));
  size_t at = 0;
  parts_.for_each_other([&](size_t part) {
    parts[part] = received_.data() + at;
    if (packs(part)) {
      float* const to = unpacked_.data() + part * static_cast<size_t>(elements.size());
      unpack_bf16(reinterpret_cast<const uint16_t*>(parts[part]), elements.size(), to);
      parts[part] = reinterpret_cast<const std::byte*>(to);
    }
    at += bytes_of_part(part, elements);
  });
  with_sum_type(c.dtype, [&](auto zero) { parts_.sum_elements<decltype(zero)>(data_, elements, parts, -1); });
  if (parts_.is_whole(c)) return;
  if (c.is_bf16) pack_bf16(static_cast<const float*>(data_[0]) + elements.begin, elements.size(), sums_.data() + elements.begin);
  parts_.for_each_other([&](size_t part) { send(result_lane(part), kSums, result_offset(elements), result_bytes(elements)); });
}

// ---- sums on their way ----

ProcessSlot::Lane& ProcessSlot::result_lane(size_t part) {
  if (collective_.is_bf16) return lane(results_, part, sums_.data(), sums_.size() * sizeof(uint16_t));
  return lane(results_, part, data_[0], static_cast<size_t>(collective_.count) * size_of(collective_.dtype));
}

size_t ProcessSlot::result_size() const { return collective_.is_bf16 ? sizeof(uint16_t) : size_of(collective_.dtype); }

// ---- all_gather and reduce_scatter ----

// Every process sends what its ranks own to all others.
void ProcessSlot::begin_gather() {
  const size_t bytes = static_cast<size_t>(collective_.count);
  const std::vector<size_t>& own = parts_.own().positions;
  for (const OwnedBytes& piece : *collective_.pieces) {
    if (!parts_.own().owns(piece)) {
      parts_.for_each_other([&](size_t part) {
        if (parts_[part].owns(piece))
          receive(lane(incoming_, part, data_[0], bytes), kParts, piece.begin, piece.end - piece.begin);
      });
      continue;
    }
    // Ranks of this process have buffers of their own, and a lane serves one buffer at a time.
    const auto local = static_cast<size_t>(std::find(own.begin(), own.end(), static_cast<size_t>(piece.owner)) - own.begin());
    while (owned_.size() < own.size()) owned_.emplace_back(parts_.size());
    parts_.for_each_other([&](size_t part) {
      send(lane(owned_[local], part, data_[local], bytes), kParts, piece.begin, piece.end - piece.begin);
    });
  }
}

void ProcessSlot::begin_scatter() {
  const std::vector<OwnedBytes>& pieces = *collective_.pieces;
  const size_t own_bytes = parts_.bytes_owned(pieces, parts_.own_index());
  size_t received = 0, sent = 0;
  parts_.for_each_other([&](size_t part) {
    received += parts_[part].nodes.size() * own_bytes;
    sent += parts_.own().nodes.size() * parts_.bytes_owned(pieces, part);
  });
  received_.resize(std::max(received_.size(), received));
  sent_.resize(std::max(sent_.size(), sent));
  sent = received = 0;
  parts_.for_each_other([&](size_t part) {
    const size_t in = parts_[part].nodes.size() * own_bytes, first = sent;
    receive(lane(incoming_, part, received_.data(), received_.size()), kParts, received, in);
    received += in;
    for (const OwnedBytes& piece : pieces) {
      if (!parts_[part].owns(piece)) continue;
      parts_.sum_nodes<float>(data_, elements_of(piece), sent_.data() + sent);
      sent += parts_.own().nodes.size() * (piece.end - piece.begin);
    }
    send(lane(outgoing_, part, sent_.data(), sent_.size()), kParts, first, sent - first);
  });
}

void ProcessSlot::combine_scatter() {
  const std::vector<OwnedBytes>& pieces = *collective_.pieces;
  const size_t own_bytes = parts_.bytes_owned(pieces, parts_.own_index());
  std::vector<const std::byte*> parts(parts_.size(), nullptr);
  size_t at = 0;
  parts_.for_each_other([&](size_t part) {
    parts[part] = received_.data() + at;
    at += parts_[part].nodes.size() * own_bytes;
  });
  for (const OwnedBytes& piece : pieces) {
    if (!parts_.own().owns(piece)) continue;
    parts_.sum_elements<float>(data_, elements_of(piece), parts, piece.owner);
    parts_.for_each_other([&](size_t part) { parts[part] += parts_[part].nodes.size() * (piece.end - piece.begin); });
  }
}

// ---- all_of ----

// A flag of all local ranks goes to every process.
void ProcessSlot::begin_flags() {
  int32_t own_flag = 1;
  for (const void* data : data_) own_flag = own_flag && *static_cast<const int32_t*>(data) != 0;
  sent_.resize(std::max(sent_.size(), sizeof own_flag));
  received_.resize(std::max(received_.size(), parts_.size() * sizeof own_flag));
  std::memcpy(sent_.data(), &own_flag, sizeof own_flag);
  parts_.for_each_other([&](size_t part) {
    receive(lane(incoming_, part, received_.data(), received_.size()), kParts,
            part * sizeof own_flag, sizeof own_flag);
    send(lane(outgoing_, part, sent_.data(), sent_.size()), kParts, 0, sizeof own_flag);
  });
}

void ProcessSlot::combine_flags() {
  int32_t all = 0;
  std::memcpy(&all, sent_.data(), sizeof all);
  parts_.for_each_other([&](size_t part) {
    int32_t flag = 0;
    std::memcpy(&flag, received_.data() + part * sizeof flag, sizeof flag);
    all = all && flag;
  });
  for (void* data : data_) *static_cast<int32_t*>(data) = all;
}

// ---- the steps ----

void ProcessSlot::begin(const Collective& collective, const std::vector<void*>& data) {
  collective_ = collective;
  data_ = data;
  switch (collective_.kind) {
    case CollectiveKind::all_reduce: return begin_all_reduce();
    case CollectiveKind::all_gather: return begin_gather();
    case CollectiveKind::reduce_scatter: return begin_scatter();
    case CollectiveKind::all_of: return begin_flags();
  }
}

void ProcessSlot::combine(const WaitsFor& waits_for) {
  wait_received(incoming_, waits_for);
  switch (collective_.kind) {
    case CollectiveKind::all_reduce: return combine_all_reduce();
    case CollectiveKind::all_gather: return;
    case CollectiveKind::reduce_scatter: return combine_scatter();
    case CollectiveKind::all_of: return combine_flags();
  }
}

// Copies what came from other processes to all local ranks.
void ProcessSlot::complete(const WaitsFor& waits_for) {
  const Collective& c = collective_;
  wait_received(results_, waits_for);
  if (c.kind == CollectiveKind::all_reduce && !parts_.is_whole(c))
    parts_.for_each_other([&](size_t part) {
      const Range elements = parts_.slice_of(c, part);
      const size_t size = size_of(c.dtype);
      if (c.is_bf16)
        unpack_bf16(sums_.data() + elements.begin, elements.size(), static_cast<float*>(data_[0]) + elements.begin);
      for (size_t local = 1; local < data_.size(); ++local)
        copy(0, local, static_cast<size_t>(elements.begin) * size, static_cast<size_t>(elements.end) * size);
    });
  if (c.kind == CollectiveKind::all_gather) {
    const std::vector<size_t>& own = parts_.own().positions;
    for (const OwnedBytes& piece : *c.pieces) {
      const auto found = std::find(own.begin(), own.end(), static_cast<size_t>(piece.owner));
      const size_t from = found == own.end() ? 0 : static_cast<size_t>(found - own.begin());
      for (size_t local = 0; local < data_.size(); ++local)
        if (local != from) copy(from, local, piece.begin, piece.end);
    }
  }
  for (Lanes* lanes : {&outgoing_, &results_}) wait_sent(*lanes);
  for (Lanes& lanes : owned_) wait_sent(lanes);
}

}  // namespace troika
