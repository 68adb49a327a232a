// Starting the same command in several processes.
#include "cli/processes.h"

#include <filesystem>
#include <string>

#include "cli/launcher.h"
#include "cli/text.h"

namespace troika::cli {

void add_processes_option(const Command& command, int& processes) {
  command.option("--processes", processes, "Runs in so many processes of this machine (see troika run)");
}

int run_in_processes(const Command& command, int processes) {
  if (processes < 1 || processes > kMostProcesses)
    refuse_value("--processes", processes, formatted("1 to %d", kMostProcesses));
  LaunchOptions launch;
  launch.processes = processes;
  launch.program = {std::filesystem::read_symlink("/proc/self/exe").string()};
  bool is_value = false;
  for (const std::string& word : command.words()) {
    const bool is_own = is_value || word == "--processes" || word.starts_with("--processes=");
    is_value = !is_value && word == "--processes";
    if (!is_own) launch.program.push_back(word);
  }
  return Launcher(launch).run();
}

}  // namespace troika::cli
