// The floating-point environment in which the library computes, whatever the host's is.
#pragma once

#include <cfenv>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace troika {

// Sets the default environment (round to nearest, no traps, subnormal numbers kept) of the calling
// thread during its life, and then sets the thread's own again. Threads that start meanwhile
// inherit the default. Costs a few nanoseconds if the host's environment is the default.
class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() {
    if (is_default()) return;
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
    changes_ = true;
  }
  ~DefaultFloatEnvironment() {
    if (changes_) std::fesetenv(&before_);
  }
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;

 private:
  static bool is_default() {
#if defined(__SSE2__)
    return (_mm_getcsr() & 0xFFC0u) == 0x1F80u;  // without the flags of exceptions that have happened
#else
    return false;
#endif
  }

  std::fenv_t before_{};
  bool changes_ = false;
};

}  // namespace troika
