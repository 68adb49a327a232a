// The `troika` program: runs one command, and prints one line if something fails.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <new>

#include "cli/client.h"
#include "cli/command_line.h"
#include "cli/commands.h"

namespace {

int fail(std::string message) {
  for (char& c : message)
    if (c == '\n' || c == '\r') c = ' ';
  std::cout.flush();
  std::fprintf(stderr, "troika: %s\n", message.c_str());
  return 1;
}

// OpenMP's threads spin between two pieces of work. This costs nothing on an idle machine, and
// makes training a hundred times slower next to another busy process. OpenMP reads its settings
// once, when it is loaded, so the program starts again with this setting. A setting of the user's
// stays.
void let_threads_sleep(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") || std::getenv("GOMP_SPINCOUNT")) return;
  // returns if it cannot: go on without it
  if (setenv("OMP_WAIT_POLICY", "passive", 1) == 0) execv("/proc/self/exe", argv);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace troika::cli;
  let_threads_sleep(argv);
  try {
    CommandLine line("troika", "Trains neural networks on several devices at once.",
                     [] { return std::string(troika_build_info()); });
    add_devices_command(line);
    add_train_command(line);
    add_evaluate_command(line);
    add_inspect_command(line);
    add_bench_command(line);
    add_plan_command(line);
    add_run_command(line);
    add_status_command(line);
    const int status = line.run(argc, argv);
    if (!std::cout.flush()) return fail("cannot write to standard output");
    return status;
  } catch (const std::bad_alloc&) {
    return fail("out of memory; try a smaller --batch");
  } catch (const std::exception& e) {
    return fail(e.what());
  }
}
