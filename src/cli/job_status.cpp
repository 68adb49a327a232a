// Puts together what processes and launchers have written, and looks whether processes still run.
#include "cli/job_status.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "cli/client.h"
#include "cli/node_status.h"
#include "cli/text.h"
#include "core/path.h"

namespace troika::cli {
namespace {

// Returns the files NAME-N.json of a status folder.
std::vector<std::filesystem::path> files_of(const std::filesystem::path& folder, const std::string& name) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(status_folder(folder), error)) {
    const std::string found = text_of(entry.path().filename());
    if (found.starts_with(name + "-") && found.ends_with(".json")) files.push_back(entry.path());
  }
  return files;
}

// Returns when the file was written, in seconds since 1970; 0: there is none.
double time_of(const std::filesystem::path& file) {
  std::error_code error;
  const auto written = std::filesystem::last_write_time(file, error);
  if (error) return 0;
  return std::chrono::duration<double>(std::filesystem::file_time_type::clock::to_sys(written).time_since_epoch()).count();
}

// A process that runs no more and has not said why is lost.
void look_at(WatchedRank& rank) {
  if (rank.status.has_ended()) {
    rank.life = Life::ended;
  } else if (rank.status.process.is_here()) {
    rank.life = rank.status.process.is_running() ? Life::alive : Life::ended;
    if (rank.life == Life::ended) rank.status.state = "lost";
    if (rank.status.process.is_suspended()) {
      rank.status.state = "suspended";
      rank.status.message = "a signal (SIGSTOP) or a debugger has suspended it; the others wait";
    }
  }
}

// Adds what the launcher knows of the process.
void add_launched(WatchedRank& rank, const LaunchedProcess& launched) {
  RankStatus& status = rank.status;
  status.rank = launched.rank;
  status.process = launched.process;
  if (!launched.has_ended) {
    if (status.state.empty()) status.state = "running";
    return look_at(rank);
  }
  rank.life = Life::ended;
  if (launched.signal != 0)
    status.state = "killed", status.message = formatted("signal %d", launched.signal);
  else if (!status.has_ended())
    status.state = launched.exit_status == 0 ? "done" : "failed";
  if (launched.exit_status != 0 && status.message.empty())
    status.message = formatted("exit status %d", launched.exit_status);
}

}  // namespace

JobStatus::JobStatus(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder)) throw Failure("there is no folder '" + text_of(folder) + "'");
  read_ranks(folder);
  read_nodes(folder);
  if (ranks_.empty())
    throw Failure("'" + text_of(folder) +
                  "' has no status of a job; give the folder of troika train --out, or of troika run --log-dir");
}

void JobStatus::read_ranks(const std::filesystem::path& folder) {
  std::vector<RankStatus> found;
  for (const std::filesystem::path& file : files_of(folder, "rank")) found.push_back(read_status(file));
  if (found.empty()) return;
  const auto newest = std::max_element(found.begin(), found.end(), [](auto& a, auto& b) { return a.time < b.time; });
  const int processes = newest->processes;
  for (int rank = 0; rank < processes; ++rank) {
    WatchedRank& watched = ranks_.emplace_back();
    watched.status.rank = rank;
    watched.status.processes = processes;
    watched.status.state = "unknown";
  }
  for (const RankStatus& status : found) {
    if (status.rank >= processes) continue;  // of an earlier, larger job
    WatchedRank& watched = ranks_[static_cast<size_t>(status.rank)];
    watched.status = status;
    watched.has_news = true;
    look_at(watched);
  }
}

void JobStatus::read_nodes(const std::filesystem::path& folder) {
  for (const std::filesystem::path& file : files_of(folder, "node")) {
    const NodeStatus node = read_node_status(file);
    for (const LaunchedProcess& launched : node.launched) {
      if (launched.rank < 0 || launched.rank >= node.processes) continue;
      while (static_cast<int>(ranks_.size()) < node.processes) {
        ranks_.emplace_back().status.rank = static_cast<int>(ranks_.size()) - 1;
        ranks_.back().status.state = "unknown";
      }
      WatchedRank& watched = ranks_[static_cast<size_t>(launched.rank)];
      if (!watched.has_news || watched.status.time < node.began) watched.status = RankStatus();
      watched.has_news = true;
      add_launched(watched, launched);
      const double last_line = time_of(folder / formatted("rank-%d.log", launched.rank));
      watched.status.time = std::max({watched.status.time, node.began, last_line});
    }
  }
}

std::string JobStatus::state() const {
  for (const char* state : {"lost", "killed", "failed", "suspended", "stopped"})
    for (const WatchedRank& rank : ranks_)
      if (rank.status.state == state) return state;
  const auto is_on = [](const WatchedRank& rank) { return rank.status.state != "done"; };
  const auto first = std::find_if(ranks_.begin(), ranks_.end(), is_on);
  return first == ranks_.end() ? "done" : first->status.state;
}

const WatchedRank* JobStatus::slowest() const {
  const WatchedRank* slowest = nullptr;
  double waits = 0;
  for (const WatchedRank& rank : ranks_) {
    if (std::isnan(rank.status.own_seconds()) || rank.status.state == "suspended") return nullptr;
    waits += rank.status.wait_seconds;
    if (!slowest || rank.status.own_seconds() > slowest->status.own_seconds()) slowest = &rank;
  }
  return ranks_.size() > 1 && waits > 0 ? slowest : nullptr;
}

}  // namespace troika::cli
