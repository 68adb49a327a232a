// Processes by OpenProcess.
#include "cli/process_name.h"

#include <windows.h>

#include "core/machine.h"

namespace troika::cli {
namespace {

// A process of this machine that has not ended.
class OpenedProcess {
 public:
  explicit OpenedProcess(int64_t id)
      : process_(OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, static_cast<DWORD>(id))), error_(process_ ? 0 : GetLastError()) {}
  ~OpenedProcess() {
    if (process_) CloseHandle(process_);
  }
  OpenedProcess(const OpenedProcess&) = delete;
  OpenedProcess& operator=(const OpenedProcess&) = delete;

  bool is_missing() const { return error_ == ERROR_INVALID_PARAMETER; }
  bool is_running() const {
    DWORD status = 0;
    return process_ && GetExitCodeProcess(process_, &status) && status == STILL_ACTIVE;
  }
  int64_t began() const {
    FILETIME created{}, ended{}, kernel{}, user{};
    if (!process_ || !GetProcessTimes(process_, &created, &ended, &kernel, &user)) return 0;
    return static_cast<int64_t>(uint64_t{created.dwHighDateTime} << 32 | created.dwLowDateTime);
  }

 private:
  const HANDLE process_;
  const DWORD error_;
};

}  // namespace

ProcessName ProcessName::of_this_process() { return of_child(GetCurrentProcessId()); }

ProcessName ProcessName::of_child(int64_t id) { return {host_name(), id, OpenedProcess(id).began()}; }

bool ProcessName::is_here() const { return host == host_name(); }

bool ProcessName::is_running() const {
  const OpenedProcess process(id);
  return process.is_running() && process.began() == began;
}

bool ProcessName::is_suspended() const { return false; }  // Windows does not say

bool may_exist(int64_t id) {
  const OpenedProcess process(id);
  return !process.is_missing() && (process.is_running() || process.began() == 0);
}

}  // namespace troika::cli
