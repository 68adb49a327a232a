// First fit by decreasing size.
#include "plan/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace troika {

size_t plan_memory(std::vector<MemoryBlock>& blocks) {
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  auto aligned = [](size_t bytes) { return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment; };

  std::vector<size_t> placed;  // by offset
  size_t arena = 0;
  for (size_t i : order) {
    MemoryBlock& block = blocks[i];
    size_t offset = 0;
    for (size_t j : placed) {
      const MemoryBlock& other = blocks[j];
      if (other.last < block.first || block.last < other.first) continue;  // never alive at the same time
      if (offset + block.bytes <= other.offset) break;                     // fits below
      offset = std::max(offset, aligned(other.offset + other.bytes));
    }
    block.offset = offset;
    arena = std::max(arena, offset + block.bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i,
                                   [&](size_t a, size_t b) { return blocks[a].offset < blocks[b].offset; }),
                  i);
  }
  return aligned(arena);
}

}  // namespace troika
