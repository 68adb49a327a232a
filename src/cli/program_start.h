// The start of the program.
#pragma once

#include <string>
#include <vector>

namespace troika::cli {

// Prepares the process, and returns the words of the command line, in UTF-8 on Windows. The first
// is the program.
std::vector<std::string> start_program(int argc, char** argv);

}  // namespace troika::cli
