// Counts and fails the allocations of this process: malloc and its family are replaced in the program that links
// allocation_hooks.cpp, and so is operator new, which calls malloc. What oneDNN allocates inside its own functions is left
// alone: its generated code does not survive a failure half way, and it is not ours to count.
#pragma once

#include <cstdint>

namespace troika::test {

// Allocations outside oneDNN since the last reset, by all threads.
int64_t allocation_count();
void reset_allocation_count();

// Allocations outside oneDNN that have not been freed, since the process began.
int64_t live_allocations();

// From now on allocation number `n` (from 1) outside oneDNN fails, by whichever thread; with `and_all_after` so do all
// that follow. Memory for exceptions comes from the C++ runtime's reserve, and is never counted.
void fail_allocation(int64_t n, bool and_all_after);
// Ends that; tells whether an allocation has failed.
bool stop_failing();

}  // namespace troika::test
