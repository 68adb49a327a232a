// --processes: a command that starts itself in several processes of this machine.
#pragma once

#include "cli/command_line.h"

namespace troika::cli {

// `processes` is 1 without the option.
void add_processes_option(const Command& command, int& processes);

// Runs the same command, without the option, in each process of a job. Returns the exit status.
int run_in_processes(const Command& command, int processes);

}  // namespace troika::cli
