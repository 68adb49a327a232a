// The state of the process that ends the life of earlier objects: a fork, whose child has none of
// the library's threads, and the exit, during which other libraries end before the host's globals.
#pragma once

#include <cstdint>

namespace troika {

// Begins to watch the process; later calls do nothing. Called when a context is created.
void watch_process();
// Parts of other libraries, which begin when they are first used.
enum class LibraryPart { plans, reorders };

// Marks the exit before libraries end that were first used until now. Later calls for the same part
// do nothing. Called when the first plan has been compiled, with which oneDNN begins, and when the
// first reorder outside of a plan has been made.
void watch_libraries(LibraryPart part);

// Returns a number that is larger in a forked child. Threads that were started under another
// number do not exist.
uint32_t fork_generation();

// Whether the process has begun to exit.
bool is_exiting();

// The exit of the process waits until it ends, but at most 30 s.
class ExitHold {
 public:
  ExitHold();
  ~ExitHold();
  ExitHold(const ExitHold&) = delete;
  ExitHold& operator=(const ExitHold&) = delete;
};

// Throws UNSUPPORTED if the process has begun to exit.
void require_no_exit();

// A thread may use oneDNN or another library, which must not end meanwhile. It calls
// require_no_exit() first, and again before each further piece of work.
class LibraryUse {
 public:
  LibraryUse();
  ~LibraryUse();

 private:
  const ExitHold hold_;
};

}  // namespace troika
