// Offsets of parameters, gradients and optimizer state.
#include "plan/state_table.h"

#include "core/error.h"
#include "core/text.h"
#include "passes/optimizer.h"

namespace troika {
namespace {

constexpr size_t kAlignment = 64;  // a cache line, and the widest vector

}  // namespace

StateEntry& StateTable::find(const std::string& name) {
  for (StateEntry& entry : entries_)
    if (entry.name == name) return entry;
  throw Error(Status::internal, text("state table: no entry '", name, "'"));
}

StateEntry& StateTable::find(Role role, const std::string& name) {
  return find(role == Role::optimizer_state || role == Role::copy ? parameter_of_slot(name) : name);
}

void StateTable::place() {
  size_t offset = 0;
  for (StateEntry& entry : entries_) {
    entry.is_decided = true;
    entry.bytes = entry.layout ? entry.layout->bytes() : entry.type.bytes();
    entry.offset = offset;
    const size_t bytes = (entry.bytes + kAlignment - 1) / kAlignment * kAlignment;
    offset += bytes;
    if (entry.bucket < 0) continue;
    if (static_cast<size_t>(entry.bucket) == buckets_.size()) buckets_.push_back({entry.offset, 0, {}});
    BucketRange& bucket = buckets_[static_cast<size_t>(entry.bucket)];
    bucket.bytes = offset - bucket.offset;
    gradient_bytes_ = offset;
    entry.slot_offset = entry.offset;
    if (entry.owner < 0) continue;
    const auto owner = static_cast<size_t>(entry.owner);
    if (owner >= owned_bytes_.size()) owned_bytes_.resize(owner + 1);
    entry.slot_offset = owned_bytes_[owner];
    owned_bytes_[owner] += bytes;
    bucket.pieces.push_back({bucket.bytes - bytes, bucket.bytes, entry.owner});
  }
  parameter_bytes_ = offset;
  is_placed_ = true;
}

Location StateTable::locate(Role role, const std::string& name) const {
  const StateEntry& entry = find(role, name);
  switch (role) {
    case Role::gradient: return {Segment::gradients, entry.offset, entry.bytes};
    case Role::copy: return {Segment::copies, entry.offset / 2, entry.bytes / 2};
    case Role::optimizer_state: break;
    default: return {Segment::parameters, entry.offset, entry.bytes};
  }
  for (size_t s = 0; s < slots_.size(); ++s)
    if (slot_name(slots_[s], entry.name) == name)
      return {Segment::optimizer, s * slot_bytes(entry.owner) + entry.slot_offset, entry.bytes};
  throw Error(Status::internal, text("state table: no slot for '", name, "'"));
}

size_t StateTable::slot_bytes(int share) const {
  if (owned_bytes_.empty()) return gradient_bytes_;
  return static_cast<size_t>(share) < owned_bytes_.size() ? owned_bytes_[static_cast<size_t>(share)] : 0;
}

size_t StateTable::segment_bytes(Segment segment, int share) const {
  switch (segment) {
    case Segment::parameters: return parameter_bytes_;
    case Segment::gradients: return gradient_bytes_;
    case Segment::optimizer: return slots_.size() * slot_bytes(share);
    case Segment::copies: return parameter_bytes_ / 2;
    default: return 0;
  }
}

}  // namespace troika
