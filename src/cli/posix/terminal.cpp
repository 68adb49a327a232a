// The terminal by ioctl.
#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

namespace troika::cli {
namespace {

int columns_of(int file) {
  winsize size{};
  return ::ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

bool is_on_terminal() { return ::isatty(STDERR_FILENO) != 0; }

int terminal_columns() { return columns_of(STDERR_FILENO); }

int output_columns() { return ::isatty(STDOUT_FILENO) != 0 ? columns_of(STDOUT_FILENO) : 0; }

void write_at_once(const char* text, int size) {
  const int error = errno;  // the interrupted code may be about to read it
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, static_cast<size_t>(size));
  errno = error;
}

}  // namespace troika::cli
