// Notes the beginnings and ends of a launcher's processes.
#include "cli/launch_status.h"

#include <filesystem>

#include "cli/status_file.h"
#include "cli/unix_time.h"

namespace troika::cli {

void LaunchStatus::begin_attempt(int attempt, const std::vector<std::unique_ptr<ChildProcess>>& processes) {
  status_ = {options_.size(), attempt, unix_seconds(), {}};
  for (const auto& process : processes)
    status_.launched.push_back(
        {options_.rank(static_cast<int>(status_.launched.size())), ProcessName::of_child(process->id()), false, 0, 0});
  write();
}

void LaunchStatus::note_end(int process, const ChildProcess& ended) {
  LaunchedProcess& launched = status_.launched[static_cast<size_t>(process)];
  launched.has_ended = true;
  launched.exit_status = ended.exit_status();
  launched.signal = ended.ending_signal();
  write();
}

void LaunchStatus::write() const {
  if (options_.log_folder.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(status_folder(options_.log_folder), ignored);
  write_news(node_status_file(options_.log_folder, options_.node), print_status(status_));
}

}  // namespace troika::cli
