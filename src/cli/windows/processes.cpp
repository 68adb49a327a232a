// Windows has no launcher: a job has one process.
#include "cli/processes.h"

#include "cli/commands.h"
#include "cli/text.h"

namespace troika::cli {
namespace {

constexpr const char* kReason = "on Windows a job has one process, with several devices";

}  // namespace

void add_processes_option(const Command& command, int& processes) {
  command.option("--processes", processes, "Processes of this machine; always 1 on Windows");
}

int run_in_processes(const Command&, int processes) {
  throw Failure(formatted("--processes is %d; %s", processes, kReason));
}

void add_run_command(CommandLine& line) {
  const Command command = line.add_command("run", "Starts a program in several processes; not on Windows");
  const auto words = std::make_shared<std::vector<std::string>>();
  command.rest("program", *words, "The program and its arguments", "WORDS");
  command.action([words]() -> int { throw Failure(std::string("run: ") + kReason + "; start the program itself"); });
}

}  // namespace troika::cli
