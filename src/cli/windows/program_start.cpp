// The command line as wide characters, and a console that shows UTF-8.
#include "cli/program_start.h"

#include <windows.h>
#include <shellapi.h>

#include <cstdlib>

#include "core/path.h"

namespace troika::cli {
namespace {

UINT earlier_code_page = 0;

}  // namespace

std::vector<std::string> start_program(int argc, char** argv) {
  // The console belongs to the shell, which goes on after this program.
  earlier_code_page = GetConsoleOutputCP();
  SetConsoleOutputCP(CP_UTF8);
  std::atexit([] { SetConsoleOutputCP(earlier_code_page); });
  int count = 0;
  wchar_t** const wide = CommandLineToArgvW(GetCommandLineW(), &count);
  if (!wide) return {argv, argv + argc};
  std::vector<std::string> words;
  for (int i = 0; i < count; ++i) words.push_back(text_of(std::filesystem::path(wide[i])));
  LocalFree(wide);
  return words;
}

}  // namespace troika::cli
