// The machine's memory, and large blocks of it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troika {

int64_t total_memory();
// Bytes that a program can still take without pushing out others.
int64_t available_memory();

// Returns a block, zeroed and not yet in memory: only what is touched takes memory. Null if the
// system refuses.
void* map_memory(size_t bytes);
void unmap_memory(void* block, size_t bytes);

}  // namespace troika
