// The blocks of a plan's arena: which launches each lives through, whose memory it takes over, and where it lies.
#pragma once

#include "plan/memory_plan.h"

namespace troika {

class Arena {
 public:
  // A block that lives through launch `now`.
  size_t add(size_t bytes, int now);
  void keep_from(size_t block, int launch);
  void keep_until(size_t block, int launch);
  // It is fed before the step or read after it: no other block has its memory, then or now.
  void pin(size_t block);

  // Before anything is placed, in the order of launches: an output has the memory of an input that dies in its launch, `now`.
  // False where it cannot.
  bool take_over(size_t output, size_t input, int now);

  // At the arena's begin for the whole step, behind those that were placed so before.
  void place_first(size_t block, size_t alignment);
  // The next of them begins there, at a multiple of `alignment`.
  size_t align(size_t alignment);
  // All others.
  void place_rest();

  size_t bytes() const { return bytes_; }  // of the placed blocks
  size_t bytes_of(size_t block) const { return blocks_[block].bytes; }
  size_t offset_of(size_t block) const { return blocks_[root(block)].offset; }

 private:
  size_t root(size_t block) const;

  std::vector<MemoryBlock> blocks_;
  std::vector<size_t> same_as_;  // one a block: whose memory it takes over; itself otherwise
  std::vector<bool> is_pinned_, is_placed_;
  size_t bytes_ = 0;
};

}  // namespace troika
