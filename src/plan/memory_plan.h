// Places blocks with lifetimes in one arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace troika {

constexpr size_t kArenaAlignment = 256;  // of an allocation on a GPU, which cuBLASLt wants of its workspace

struct MemoryBlock {
  size_t bytes = 0;
  int first = 0, last = 0;  // launches between which it lives, both included
  size_t offset = 0;        // found by plan_memory
};

// Gives every block an offset such that blocks that live at the same time do not overlap, largest first, each at the
// lowest place that is free. Returns the arena's bytes.
size_t plan_memory(std::vector<MemoryBlock>& blocks);

}  // namespace troika
