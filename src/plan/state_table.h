// State that outlives a step, and its addresses: parameters, buffers, gradients, slots and copies,
// the same on every replica.
#pragma once

#include <string>
#include <vector>

#include "core/split.h"
#include "device/layout.h"
#include "graph/graph.h"

namespace troika {

class Device;

// buffers are stored after the parameters; in `packed`, an offset is an address
enum class Segment : int32_t { none, arena, parameters, gradients, optimizer, copies, packed };

struct Location {
  Segment segment = Segment::none;
  size_t offset = 0;
  size_t bytes = 0;
};

struct StateEntry {
  std::string name;
  TensorType type;
  bool is_buffer = false;
  int bucket = -1;  // -1: no gradient
  LayoutPtr layout;
  bool is_decided = false;  // the layout is decided; the first kernel that reads a parameter decides
  int owner = -1;           // the only share whose rank has the slots; -1: all shares
  // in its segment; the gradient has the parameter's offset in the segment of gradients, and the
  // copy has half of both numbers
  size_t offset = 0, bytes = 0;
  size_t slot_offset = 0;  // within each slot's part of the optimizer segment
};

// A bucket's gradients as one run of the gradient segment, and its parameters as the same run of
// the parameter segment.
struct BucketRange {
  size_t offset = 0, bytes = 0;
  std::vector<OwnedBytes> pieces;  // which share updates which bytes, from its offset; empty: every share updates all
};

// Keeps parameters in further layouts, for plans that run often while values stay the same.
class PackedState {
 public:
  virtual ~PackedState() = default;
  // Returns the place of a parameter in a layout. `device` computes the first copy now. Later
  // values get there too.
  virtual Location pack(Device& device, const StateEntry& entry, const LayoutPtr& layout) = 0;
};

class StateTable {
 public:
  // Entries come in the order in which they are stored: trainable parameters bucket by bucket, then
  // all others. Each trainable parameter has a value in each slot.
  StateTable(std::vector<StateEntry> entries, std::vector<std::string> slots)
      : entries_(std::move(entries)), slots_(std::move(slots)) {}

  const std::vector<StateEntry>& entries() const { return entries_; }
  StateEntry& find(const std::string& name);
  const StateEntry& find(const std::string& name) const { return const_cast<StateTable*>(this)->find(name); }
  // Returns the entry of a value. A slot belongs to its parameter's entry.
  StateEntry& find(Role role, const std::string& name);
  const StateEntry& find(Role role, const std::string& name) const {
    return const_cast<StateTable*>(this)->find(role, name);
  }
  const std::vector<std::string>& slots() const { return slots_; }
  bool is_placed() const { return is_placed_; }

  // Keeps parameters in the layouts that plans want, instead of a reorder in every run; null: none.
  // It must outlive plans that are lowered with it, and nothing may train.
  PackedState* packed() const { return packed_; }
  void set_packed(PackedState* packed) { packed_ = packed; }

  // Assigns every entry its offset. Undecided layouts become plain.
  void place();

  // The name of optimizer state, or of a copy, is a slot_name.
  Location locate(Role role, const std::string& name) const;
  size_t segment_bytes(Segment segment, int share = 0) const;
  const std::vector<BucketRange>& buckets() const { return buckets_; }

 private:
  // Bytes of one slot.
  size_t slot_bytes(int share) const;

  std::vector<StateEntry> entries_;
  std::vector<std::string> slots_;
  bool is_placed_ = false;
  PackedState* packed_ = nullptr;
  size_t parameter_bytes_ = 0, gradient_bytes_ = 0;
  std::vector<size_t> owned_bytes_;  // of one slot, by owner; empty: every share has all of it
  std::vector<BucketRange> buckets_;
};

}  // namespace troika
