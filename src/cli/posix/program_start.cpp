// The start of the program, and its second start.
#include "cli/program_start.h"

#include <unistd.h>

#include <cstdlib>

namespace troika::cli {
namespace {

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

std::vector<std::string> start_program(int argc, char** argv) {
  let_threads_sleep(argv);
  return {argv, argv + argc};
}

}  // namespace troika::cli
