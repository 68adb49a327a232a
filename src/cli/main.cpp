// The `troika` program: runs one command, and prints one line if something fails.
#include <cstdio>
#include <iostream>
#include <new>

#include "cli/client.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/program_start.h"

namespace {

int fail(std::string message) {
  for (char& c : message)
    if (c == '\n' || c == '\r') c = ' ';
  std::cout.flush();
  std::fprintf(stderr, "troika: %s\n", message.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace troika::cli;
  const std::vector<std::string> words = start_program(argc, argv);
  try {
    CommandLine line("troika", "Trains neural networks on several devices at once.",
                     [] { return std::string(troika_build_info()); });
    add_devices_command(line);
    add_train_command(line);
    add_evaluate_command(line);
    add_predict_command(line);
    add_compare_command(line);
    add_model_command(line);
    add_inspect_command(line);
    add_bench_command(line);
    add_plan_command(line);
    add_run_command(line);
    add_status_command(line);
    const int status = line.run(words);
    // A run that a closed terminal stops cannot write there, and has the status of its signal.
    if (!std::cout.flush() && status == 0) return fail("cannot write to standard output");
    return status;
  } catch (const std::bad_alloc&) {
    return fail("out of memory; try a smaller --batch");
  } catch (const std::exception& e) {
    return fail(e.what());
  }
}
