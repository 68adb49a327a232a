// Counts the allocations of this process and makes them fail. A program that links
// allocation_hooks.cpp replaces malloc and its family, and operator new, which calls malloc.
// Allocations inside oneDNN's functions are neither counted nor made to fail: they are not this
// project's, and oneDNN's code generator does not survive a failure.
//
// With clang's address sanitizer, allocations fail too, but live ones are not counted.
#pragma once

#include <cstdint>

namespace troika::test {

// Returns the number of allocations outside oneDNN since the last reset, on all threads.
int64_t allocation_count();
void reset_allocation_count();

// Returns the number of allocations outside oneDNN since the process began that are not freed.
int64_t live_allocations();

// Makes the `n`-th allocation outside oneDNN from now on fail (1: the next), on any thread.
// `and_all_after`: all later allocations fail, too. Memory for exceptions is never counted and
// never fails.
void fail_allocation(int64_t n, bool and_all_after);
// Whether allocations of the calling thread may fail, as they do at first. A test can so exempt its
// own allocations.
void let_allocations_fail(bool may_fail);
// Ends the effect of fail_allocation(). Returns whether an allocation has failed.
bool stop_failing();

}  // namespace troika::test
