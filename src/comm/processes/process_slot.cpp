// The steps of a collective between processes.
#include "comm/processes/process_slot.h"

#include <algorithm>
#include <cstring>

namespace troika {
namespace {

// Parts go to the process that sums them; sums go from there to all.
enum Phase : int { kParts = 0, kSums = 1 };

Range elements_of(const OwnedBytes& piece) {
  return {static_cast<int64_t>(piece.begin / sizeof(float)), static_cast<int64_t>(piece.end / sizeof(float))};
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
  std::memcpy(static_cast<std::byte*>(data_[to]) + begin, static_cast<const std::byte*>(data_[from]) + begin,
              end - begin);
}

// ---- all_reduce ----

void ProcessSlot::begin_all_reduce() {
  const Collective& c = collective_;
  const size_t size = size_of(c.dtype), bytes = static_cast<size_t>(c.count) * size;
  const size_t own_bytes = static_cast<size_t>(parts_.slice_of(c, parts_.own_index()).size()) * size;
  size_t received = 0;
  parts_.for_each_other([&](size_t part) { received += parts_[part].nodes.size() * own_bytes; });
  received_.resize(std::max(received_.size(), received));
  const bool is_single = parts_.own().positions.size() == 1;
  if (!is_single) sent_.resize(std::max(sent_.size(), parts_.own().nodes.size() * bytes));
  size_t sent_at = 0, received_at = 0;
  parts_.for_each_other([&](size_t part) {
    const Range theirs = parts_.slice_of(c, part);
    Lane& in = lane(incoming_, part, received_.data(), received_.size());
    receive(in, kParts, received_at, parts_[part].nodes.size() * own_bytes);
    received_at += parts_[part].nodes.size() * own_bytes;
    if (is_single) {
      Lane& out = lane(outgoing_, part, data_[0], bytes);
      send(out, kParts, static_cast<size_t>(theirs.begin) * size, static_cast<size_t>(theirs.size()) * size);
    } else {
      const size_t sent = parts_.own().nodes.size() * static_cast<size_t>(theirs.size()) * size;
      if (!parts_.is_whole(c) || sent_at == 0) {
        with_sum_type(c.dtype, [&](auto zero) { parts_.sum_nodes<decltype(zero)>(data_, theirs, sent_.data() + sent_at); });
        if (!parts_.is_whole(c)) sent_at += sent;
      }
      Lane& out = lane(outgoing_, part, sent_.data(), sent_.size());
      send(out, kParts, parts_.is_whole(c) ? 0 : sent_at - sent, sent);
      if (parts_.is_whole(c)) sent_at = sent;  // the same part goes to all
    }
    if (parts_.is_whole(c)) return;
    Lane& result = lane(results_, part, data_[0], bytes);
    receive(result, kSums, static_cast<size_t>(theirs.begin) * size, static_cast<size_t>(theirs.size()) * size);
  });
}

void ProcessSlot::combine_all_reduce() {
  const Collective& c = collective_;
  const size_t size = size_of(c.dtype);
  const Range elements = parts_.slice_of(c, parts_.own_index());
  if (parts_.is_whole(c)) wait_sent(outgoing_);  // the sum overwrites what is sent
  std::vector<const std::byte*> parts(parts_.size(), nullptr);
  size_t at = 0;
  parts_.for_each_other([&](size_t part) {
    parts[part] = received_.data() + at;
    at += parts_[part].nodes.size() * static_cast<size_t>(elements.size()) * size;
  });
  with_sum_type(c.dtype, [&](auto zero) { parts_.sum_elements<decltype(zero)>(data_, elements, parts, -1); });
  if (parts_.is_whole(c)) return;
  parts_.for_each_other([&](size_t part) {
    Lane& result = results_[part];
    send(result, kSums, static_cast<size_t>(elements.begin) * size, static_cast<size_t>(elements.size()) * size);
  });
}

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
