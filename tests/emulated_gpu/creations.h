// For tests: the live objects of the stand-ins, and the choice of a creating call that fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace emulated_gpu {

// Lets creating call `n` from now on fail, as if memory had run out. 0: the next, below 0: none.
// Calls of the name `spared` are not counted.
void fail_creation(int64_t n, std::string spared = "");
// Returns the name of the call that failed since then; empty if none did.
std::string failed_creation();

// Returns whether the call must fail and create nothing. Each creating call calls this once, before
// it creates.
bool must_fail(const char* call);

// Returns how many destroying calls were refused: the object does not exist, or another GPU is
// current.
int64_t refused_ends();
void note_refused_end();
// Returns the status of a call that destroys something, and notes it unless it is 0, success.
template <typename Status>
Status ended(Status status) {
  if (static_cast<int>(status) != 0) note_refused_end();
  return status;
}

// Returns the number of existing objects by kind. Kinds without objects are left out.
std::map<std::string, size_t> live_objects();

// Makes a kind part of live_objects() for as long as the process runs. Any thread may call `count`.
struct LiveKind {
  LiveKind(const char* kind, std::function<size_t()> count);
};

}  // namespace emulated_gpu
