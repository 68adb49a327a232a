// Names of processes, of this or another machine.
#pragma once

#include <cstdint>
#include <string>

namespace troika::cli {

// Processes that had the same number differ in `began`.
struct ProcessName {
  std::string host;
  int64_t id = 0;
  int64_t began = 0;  // field 22 of /proc/PID/stat; on Windows the time, in units of 100 ns

  static ProcessName of_this_process();
  static ProcessName of_child(int64_t id);  // a process of this machine

  bool is_here() const;       // on this machine
  bool is_running() const;    // of this machine
  bool is_suspended() const;  // by SIGSTOP or a debugger
};

// Whether this machine has a process of this number. True if the system does not say.
bool may_exist(int64_t id);

}  // namespace troika::cli
