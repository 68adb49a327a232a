// Offsets of parameters, gradients and optimizer state.
#include "plan/state_table.h"

#include "core/error.h"
#include "core/text.h"
#include "plan/memory_plan.h"

namespace troika {

StateEntry& StateTable::find(const std::string& name) {
  for (StateEntry& entry : entries_)
    if (entry.name == name) return entry;
  throw Error(Status::internal, text("state table: no entry '", name, "'"));
}

void StateTable::place() {
  size_t offset = 0;
  for (StateEntry& entry : entries_) {
    entry.is_decided = true;
    entry.bytes = entry.layout ? entry.layout->bytes() : entry.type.bytes();
    entry.offset = offset;
    offset += (entry.bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
    if (entry.bucket >= 0) {
      if (static_cast<size_t>(entry.bucket) == buckets_.size()) buckets_.push_back({entry.offset, 0});
      buckets_[static_cast<size_t>(entry.bucket)].bytes = offset - buckets_[static_cast<size_t>(entry.bucket)].offset;
      gradient_bytes_ = offset;
    }
  }
  parameter_bytes_ = offset;
  is_placed_ = true;
}

Location StateTable::locate(Role role, const std::string& name) const {
  const StateEntry& entry = find(name);
  const Segment segment = role == Role::gradient          ? Segment::gradients
                          : role == Role::optimizer_state ? Segment::optimizer
                                                          : Segment::parameters;
  return {segment, entry.offset, entry.bytes};
}

size_t StateTable::segment_bytes(Segment segment) const {
  switch (segment) {
    case Segment::parameters: return parameter_bytes_;
    case Segment::gradients: return gradient_bytes_;
    case Segment::optimizer: return has_momentum_ ? gradient_bytes_ : 0;
    default: return 0;
  }
}

}  // namespace troika
