// The processes of a job, by the status files of a folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/rank_status.h"

namespace troika::cli {

enum class Life { alive, ended, unknown };  // unknown: on another machine, or without news

// A rank as it looks from here.
struct WatchedRank {
  RankStatus status;  // `state` also: running, lost, killed, unknown
  Life life = Life::unknown;
  bool has_news = false;  // false: no file is of this rank
};

class JobStatus {
 public:
  // Reads the folder of a run, or of a launcher's logs. Throws Failure if no job has written there.
  explicit JobStatus(const std::filesystem::path& folder);

  const std::vector<WatchedRank>& ranks() const { return ranks_; }

  // The state that matters most: lost, killed, failed, suspended, stopped, done, or that of
  // the first rank.
  std::string state() const;

  // The process that the others wait for: it works longest between two waits for others. NULL:
  // processes have not measured it, nobody waits, or a process is suspended.
  const WatchedRank* slowest() const;

 private:
  void read_ranks(const std::filesystem::path& folder);
  void read_nodes(const std::filesystem::path& folder);

  std::vector<WatchedRank> ranks_;
};

}  // namespace troika::cli
