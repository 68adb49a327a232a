// Processes by /proc.
#include "cli/process_name.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include "cli/text.h"
#include "core/machine.h"

namespace troika::cli {
namespace {

// Returns the words of /proc/PID/stat after the name of the program, which may hold anything: the
// first is field 3. Empty: there is no such process.
std::vector<std::string> stat_of(int64_t id) {
  std::ifstream in(formatted("/proc/%lld/stat", static_cast<long long>(id)));
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const size_t name_end = text.rfind(") ");
  return name_end == std::string::npos ? std::vector<std::string>() : split(text.substr(name_end + 2), ' ');
}

int64_t start_of(const std::vector<std::string>& stat) {
  constexpr size_t kStartTime = 22 - 3;
  return stat.size() > kStartTime ? std::atoll(stat[kStartTime].c_str()) : 0;
}

}  // namespace

ProcessName ProcessName::of_this_process() { return of_child(::getpid()); }

ProcessName ProcessName::of_child(int64_t id) { return {host_name(), id, start_of(stat_of(id))}; }

bool ProcessName::is_here() const { return host == host_name(); }

bool ProcessName::is_running() const {
  const std::vector<std::string> stat = stat_of(id);
  return start_of(stat) == began && !stat.empty() && stat.front() != "Z";  // Z: it has ended, and nobody has noticed
}

bool ProcessName::is_suspended() const {
  const std::vector<std::string> stat = stat_of(id);
  return start_of(stat) == began && !stat.empty() && (stat.front() == "T" || stat.front() == "t");
}

bool may_exist(int64_t id) { return ::kill(static_cast<pid_t>(id), 0) == 0 || errno != ESRCH; }

}  // namespace troika::cli
