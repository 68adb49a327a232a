// The blocks of a plan's arena: their lifetimes in launches, blocks that share memory, and offsets.
#pragma once

#include "plan/memory_plan.h"

namespace troika {

class Arena {
 public:
  // Adds a block that lives through launch `now`.
  size_t add(size_t bytes, int now);
  void keep_from(size_t block, int launch);
  void keep_until(size_t block, int launch);
  // The block is fed before the step or read after it: no other block ever has its memory.
  void pin(size_t block);

  // To be called before anything is placed, in the order of launches. The output takes the memory
  // of an input that dies in launch `now`. Returns false if it cannot.
  bool take_over(size_t output, size_t input, int now);

  // Places a block at the beginning of the arena, for the whole step, after the blocks that were
  // placed so before.
  void place_first(size_t block, size_t alignment);
  // Returns the offset of the next such block, a multiple of `alignment`.
  size_t align(size_t alignment);
  // Places all other blocks.
  void place_rest();

  size_t bytes() const { return bytes_; }  // of the placed blocks
  size_t bytes_of(size_t block) const { return blocks_[block].bytes; }
  size_t offset_of(size_t block) const { return blocks_[root(block)].offset; }

 private:
  size_t root(size_t block) const;

  std::vector<MemoryBlock> blocks_;
  std::vector<size_t> same_as_;  // by block: the block whose memory it takes over, or itself
  std::vector<bool> is_pinned_, is_placed_;
  size_t bytes_ = 0;
};

}  // namespace troika
