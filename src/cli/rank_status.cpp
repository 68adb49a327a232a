// Status files as JSON, and the numbers of processes.
#include "cli/rank_status.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/client.h"
#include "cli/files.h"
#include "cli/text.h"
#include "core/machine.h"

namespace troika::cli {
namespace {

using Json = nlohmann::ordered_json;

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

// Calls `visit(name, field)` for every field of the file.
template <typename Status, typename Visitor>
void visit_status(Status& status, Visitor&& visit) {
  visit("rank", status.rank);
  visit("processes", status.processes);
  visit("host", status.process.host);
  visit("process", status.process.id);
  visit("began", status.process.began);
  visit("state", status.state);
  visit("message", status.message);
  visit("time", status.time);
  visit("epoch", status.epoch);
  visit("epochs", status.epochs);
  visit("step", status.step);
  visit("steps", status.steps);
  visit("images_per_second", status.images_per_second);
  visit("step_seconds", status.step_seconds);
  visit("wait_seconds", status.wait_seconds);
}

}  // namespace

std::filesystem::path status_folder(const std::filesystem::path& of) { return of / "status"; }

std::filesystem::path rank_status_file(const std::filesystem::path& of, int rank) {
  return status_folder(of) / formatted("rank-%d.json", rank);
}

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

std::string print_status(const RankStatus& status) {
  Json out;
  visit_status(status, [&](const char* name, const auto& field) { out[name] = field; });  // NaN becomes null
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

RankStatus read_status(const std::filesystem::path& file) {
  RankStatus status;
  const Json parsed = Json::parse(read_file(file), nullptr, false);
  try {
    visit_status(status, [&](const char* name, auto& field) {
      if (!parsed.at(name).is_null()) parsed.at(name).get_to(field);
    });
    if (status.rank >= 0 && status.rank < status.processes && status.processes <= kMostRanks) return status;
  } catch (const Json::exception&) {}
  throw Failure("'" + file.string() + "' is not the status of a process; remove the file");
}

}  // namespace troika::cli
