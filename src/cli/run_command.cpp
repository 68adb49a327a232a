// `troika run`: starts the processes of a job on this machine and watches them.
#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <memory>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/launch_options.h"
#include "cli/launcher.h"
#include "cli/text.h"

namespace troika::cli {
namespace {

constexpr int kMostNodes = 65536, kMostRestarts = 1'000'000, kMostThreads = 4096;
constexpr int kMostPort = 65535;
constexpr double kMostGrace = 1e6;  // seconds

struct RunArguments {
  LaunchOptions options;
  std::string rendezvous;
};

// Reads host:port. An IPv6 address stands in brackets.
void parse_rendezvous(const std::string& text, LaunchOptions& options) {
  const auto refuse = [&] { refuse_value("--rendezvous", text, "host:port, such as node0:29500"); };
  constexpr std::string_view kScheme = "tcp://";
  const std::string address = text.starts_with(kScheme) ? text.substr(kScheme.size()) : text;
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) refuse();
  const char *const begin = address.data() + colon + 1, *const end = address.data() + address.size();
  const auto [stop, failure] = std::from_chars(begin, end, options.port);
  if (failure != std::errc() || stop != end || options.port < 1 || options.port > kMostPort) refuse();
  options.host = address.substr(0, colon);
  if (options.host.size() > 2 && options.host.front() == '[' && options.host.back() == ']')
    options.host = options.host.substr(1, options.host.size() - 2);
  else if (options.host.find_first_of(":[]/ ") != std::string::npos)
    refuse();
}

void check(RunArguments& arguments) {
  LaunchOptions& options = arguments.options;
  const auto check_range = [](const char* option, int value, int least, int most) {
    if (value < least || value > most) refuse_value(option, value, formatted("%d to %d", least, most));
  };
  check_range("--processes", options.processes, 1, kMostProcesses);
  check_range("--nodes", options.nodes, 1, kMostNodes);
  if (options.nodes == 1 && options.node != 0) refuse_value("--node-rank", options.node, "0, or --nodes above 1");
  if (options.nodes > 1) check_range("--node-rank", options.node, 0, options.nodes - 1);
  check_range("--restarts", options.restarts, 0, kMostRestarts);
  if (options.threads < 0 || options.threads > kMostThreads)
    refuse_value("--threads", options.threads, formatted("1 to %d, or 0 for a share of the cores", kMostThreads));
  if (!(options.grace >= 0 && options.grace <= kMostGrace))
    refuse_value("--grace", options.grace, "a number from 0 to 1e+06");
  if (!arguments.rendezvous.empty())
    parse_rendezvous(arguments.rendezvous, options);
  else if (options.nodes > 1)
    throw Failure(formatted("--nodes %d needs --rendezvous HOST:PORT, an address of node 0", options.nodes));
  if (options.program.empty())
    throw Failure("no program; give one, such as troika run --processes 2 -- python3 train.py");
}

// Opens standard files that are closed, so that no pipe of the launcher gets their numbers.
void open_standard_files() {
  int file;
  do file = ::open("/dev/null", O_RDWR);
  while (file >= 0 && file <= STDERR_FILENO);
  if (file >= 0) ::close(file);
}

int run(RunArguments& arguments) {
  check(arguments);
  open_standard_files();
  return Launcher(arguments.options).run();
}

}  // namespace

void add_run_command(CommandLine& line) {
  const Command command = line.add_command("run", "Starts a program in several processes, and watches them");
  const auto arguments = std::make_shared<RunArguments>();
  LaunchOptions& options = arguments->options;
  command.option("--processes", options.processes, "Processes on this node");
  command.option("--nodes", options.nodes, "Nodes of the job; this command runs on each");
  command.option("--node-rank", options.node, "Number of this node, from 0");
  command.option("--rendezvous", arguments->rendezvous,
                 "Address of node 0 at which the processes meet; not needed for one node", "HOST:PORT");
  command.option("--restarts", options.restarts, "After a failure, starts all processes again, at most so many times",
                 "N");
  command.option("--grace", options.grace, "Time from SIGTERM to SIGKILL for the other processes after a failure",
                 "SECONDS");
  command.option("--threads", options.threads, "CPU threads of each process; 0: its share of the cores");
  command.option("--log-dir", options.log_folder,
                 "Also writes the output of each rank to DIR/rank-N.log, and DIR/status for troika status", "DIR");
  command.rest("program", options.program, "The program and its arguments, which no option may follow", "WORDS");
  command.footer(
      "Each process finds its place in TROIKA_RANK, TROIKA_WORLD_SIZE, TROIKA_LOCAL_RANK,\n"
      "TROIKA_LOCAL_SIZE, TROIKA_NODE, TROIKA_RENDEZVOUS and TROIKA_RESTART (number of the\n"
      "attempt, from 0), and in the variables of torchrun. With several nodes, set the same\n"
      "TROIKA_SECRET_FILE (or TROIKA_SECRET) on each. Ctrl-C and SIGTERM reach all processes,\n"
      "which then have 30 s; a second one kills them. The exit status is that of the process\n"
      "that failed first.");
  command.action([arguments] { return run(*arguments); });
}

}  // namespace troika::cli
