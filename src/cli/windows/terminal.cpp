// The console. It draws a bar if it understands escape sequences, as it does since Windows 10.
#include "cli/terminal.h"

#include <io.h>
#include <windows.h>

namespace troika::cli {
namespace {

constexpr int kErrorFile = 2;

HANDLE console() { return GetStdHandle(STD_ERROR_HANDLE); }

int columns_of(HANDLE handle) {
  CONSOLE_SCREEN_BUFFER_INFO info{};
  const bool is_known = GetConsoleScreenBufferInfo(handle, &info) && info.srWindow.Right > info.srWindow.Left;
  return is_known ? info.srWindow.Right - info.srWindow.Left + 1 : 80;
}

}  // namespace

bool is_on_terminal() {
  DWORD mode = 0;
  return GetConsoleMode(console(), &mode) &&
         SetConsoleMode(console(), mode | ENABLE_PROCESSED_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

int terminal_columns() { return columns_of(console()); }

int output_columns() {
  DWORD mode = 0;
  const HANDLE output = GetStdHandle(STD_OUTPUT_HANDLE);
  return GetConsoleMode(output, &mode) ? columns_of(output) : 0;
}

void write_at_once(const char* text, int size) { _write(kErrorFile, text, static_cast<unsigned>(size)); }

}  // namespace troika::cli
