// Lifetimes in launches, and shared memory as a forest of blocks.
#include "plan/arena.h"

#include <algorithm>

namespace troika {

size_t Arena::add(size_t bytes, int now) {
  const size_t block = blocks_.size();
  blocks_.push_back({std::max<size_t>(bytes, 1), now, now, 0});
  same_as_.push_back(block);
  is_pinned_.push_back(false);
  is_placed_.push_back(false);
  return block;
}

void Arena::keep_from(size_t block, int launch) { blocks_[block].first = std::min(blocks_[block].first, launch); }

void Arena::keep_until(size_t block, int launch) { blocks_[block].last = std::max(blocks_[block].last, launch); }

void Arena::pin(size_t block) { is_pinned_[block] = true; }

size_t Arena::root(size_t block) const {
  while (same_as_[block] != block) block = same_as_[block];
  return block;
}

bool Arena::take_over(size_t output, size_t input, int now) {
  const size_t from = root(input);
  if (root(output) != output || from == output || is_pinned_[from] || is_pinned_[output] || blocks_[from].last != now ||
      blocks_[from].bytes < blocks_[output].bytes)
    return false;
  same_as_[output] = from;
  keep_until(from, blocks_[output].last);
  return true;
}

size_t Arena::align(size_t alignment) { return bytes_ = (bytes_ + alignment - 1) / alignment * alignment; }

void Arena::place_first(size_t block, size_t alignment) {
  if (is_placed_[block]) return;
  is_placed_[block] = true;
  blocks_[block].offset = align(alignment);
  bytes_ = blocks_[block].offset + blocks_[block].bytes;
}

void Arena::place_rest() {
  std::vector<size_t> own;
  std::vector<MemoryBlock> planned;
  for (size_t i = 0; i < blocks_.size(); ++i)
    if (same_as_[i] == i && !is_placed_[i]) {
      own.push_back(i);
      planned.push_back(blocks_[i]);
    }
  const size_t begin = align(kArenaAlignment);
  bytes_ = begin + plan_memory(planned);
  for (size_t i = 0; i < own.size(); ++i) blocks_[own[i]].offset = begin + planned[i].offset;
}

}  // namespace troika
