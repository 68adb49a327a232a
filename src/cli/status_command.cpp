// `troika status`: the processes of a job that runs, or that has ended.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/job_status.h"
#include "cli/text.h"
#include "cli/unix_time.h"
#include "core/path.h"

namespace troika::cli {
namespace {

// A dash for a figure that is not known.
constexpr const char* kUnknown = "-";

std::string name_of(Life life) { return life == Life::alive ? "yes" : life == Life::ended ? "no" : "?"; }

std::string part_of(int64_t done, int64_t all) {
  return all > 0 ? formatted("%lld/%lld", static_cast<long long>(done), static_cast<long long>(all)) : kUnknown;
}

std::string as_milliseconds(double seconds) {
  return std::isnan(seconds) ? kUnknown : formatted("%.1f ms", 1000 * seconds);
}

using Row = std::vector<std::string>;

Row row_of(const WatchedRank& rank, double now) {
  const RankStatus& status = rank.status;
  if (!rank.has_news) {
    Row row(10, kUnknown);
    row[0] = std::to_string(status.rank);
    row[3] = "?";
    row[4] = status.state;
    return row;
  }
  return {std::to_string(status.rank),
          std::to_string(status.process.id),
          status.process.host,
          name_of(rank.life),
          status.state,
          part_of(status.epoch, status.epochs),
          part_of(status.step, status.steps),
          std::isnan(status.images_per_second) ? kUnknown : with_commas(std::llround(status.images_per_second)),
          as_milliseconds(status.own_seconds()),
          formatted("%.1f s", std::max(0.0, now - status.time))};
}

// Columns as wide as their widest cell, with two spaces in between.
void print_table(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      size_t width = 0;
      for (const Row& other : rows) width = std::max(width, other[c].size());
      line += row[c];
      if (c + 1 < row.size()) line += std::string(width - row[c].size() + 2, ' ');
    }
    std::cout << line << '\n';
  }
}

int status(const std::string& folder) {
  const JobStatus job(path_of(folder));
  const double now = unix_seconds();
  const auto alive =
      std::count_if(job.ranks().begin(), job.ranks().end(), [](auto& rank) { return rank.life == Life::alive; });
  std::cout << formatted("%s: %zu %s, %lld alive\n", job.state().c_str(), job.ranks().size(),
                         job.ranks().size() == 1 ? "process" : "processes", static_cast<long long>(alive));
  std::vector<Row> rows = {
      {"rank", "process", "host", "alive", "state", "epoch", "step", "img/s", "own work", "last news"}};
  for (const WatchedRank& rank : job.ranks()) rows.push_back(row_of(rank, now));
  print_table(rows);
  for (const WatchedRank& rank : job.ranks())
    if (!rank.status.message.empty())
      std::cout << formatted("rank %d: %s\n", rank.status.rank, rank.status.message.c_str());
  if (const WatchedRank* const slowest = job.slowest())
    std::cout << formatted("slowest: rank %d, with %s of its own work in a step of %s\n", slowest->status.rank,
                           as_milliseconds(slowest->status.own_seconds()).c_str(),
                           as_milliseconds(slowest->status.step_seconds).c_str());
  return 0;
}

}  // namespace

void add_status_command(CommandLine& line) {
  const Command command = line.add_command("status", "Shows the processes of a job that runs, or that has ended");
  const auto folder = std::make_shared<std::string>();
  command.argument("folder", *folder, "The folder of troika train --out, or of troika run --log-dir", "DIR");
  command.footer(
      "A process that runs no more and has not said why is lost. The own work is the time of a\n"
      "step in which a process does not wait for others: the slowest process is the one that the\n"
      "others wait for.");
  command.action([folder] { return status(*folder); });
}

}  // namespace troika::cli
