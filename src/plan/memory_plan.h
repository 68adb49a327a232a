// Places blocks with lifetimes in one arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace troika {

constexpr size_t kArenaAlignment = 256;  // the alignment of GPU allocations, which cuBLASLt needs for its workspace

struct MemoryBlock {
  size_t bytes = 0;
  int first = 0, last = 0;  // first and last launch of its life
  size_t offset = 0;        // found by plan_memory
};

// Assigns every block an offset such that blocks that live at the same time do not overlap. The
// largest block comes first, and each takes the lowest free place. Returns the arena's bytes.
size_t plan_memory(std::vector<MemoryBlock>& blocks);

}  // namespace troika
