// The time of day, which processes of all machines share.
#pragma once

#include <chrono>

namespace troika::cli {

// Returns the seconds since 1970.
inline double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace troika::cli
