// The process's limit of address space (RLIMIT_AS), which libraries of others do not survive.
#pragma once

#include <cstddef>

namespace troika {

// OpenMP, oneDNN and the C library end the process if they cannot have memory. A piece of such work
// may need so much: 128 MiB that the C library maps for a moment when a thread first allocates, and
// tables and code.
constexpr size_t kRoomOfLibraries = size_t{160} << 20;
constexpr size_t kRoomOfThread = size_t{16} << 20;  // its stack, and what it first allocates

// Throws OUT_OF_MEMORY if the limit leaves less than `bytes`. Costs nothing without a limit.
void require_address_space(size_t bytes);

}  // namespace troika
