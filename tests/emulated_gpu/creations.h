// For tests: which objects the stand-ins have handed out and not got back, and which creating call is to fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace emulated_gpu {

// Lets the creating call `n` from now on fail, as if memory had run out; 0: the next one, below 0: none.
void fail_creation(int64_t n);
// The call that failed since, by name; empty: none did.
std::string failed_creation();

// Asked once by each call that creates an object, before it does. True: the call must fail and create nothing.
bool must_fail(const char* call);

// Calls that were to destroy something and were refused: it does not exist, or another GPU is current.
int64_t refused_ends();
void note_refused_end();
// Returns the status of a call that destroys something, and notes it unless it is 0, success.
template <typename Status>
Status ended(Status status) {
  if (static_cast<int>(status) != 0) note_refused_end();
  return status;
}

// Objects that exist now, by kind. Kinds of which there are none are left out.
std::map<std::string, size_t> live_objects();

// Makes a kind part of live_objects(), for as long as the process lives. `count` is called from any thread.
struct LiveKind {
  LiveKind(const char* kind, std::function<size_t()> count);
};

}  // namespace emulated_gpu
