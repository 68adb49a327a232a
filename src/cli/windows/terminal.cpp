// The console. It draws a bar if it understands escape sequences, as it does since Windows 10.
#include "cli/terminal.h"

#include <windows.h>

namespace troika::cli {
namespace {

HANDLE console() { return GetStdHandle(STD_ERROR_HANDLE); }

}  // namespace

bool is_on_terminal() {
  DWORD mode = 0;
  return GetConsoleMode(console(), &mode) &&
         SetConsoleMode(console(), mode | ENABLE_PROCESSED_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

int terminal_columns() {
  CONSOLE_SCREEN_BUFFER_INFO info{};
  const bool is_known = GetConsoleScreenBufferInfo(console(), &info) && info.srWindow.Right > info.srWindow.Left;
  return is_known ? info.srWindow.Right - info.srWindow.Left + 1 : 80;
}

}  // namespace troika::cli
