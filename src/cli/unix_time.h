// This machine: its name and its clock.
#pragma once

#include <unistd.h>

#include <chrono>
#include <climits>
#include <string>

namespace troika::cli {

inline std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

// Returns the seconds since 1970.
inline double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace troika::cli
