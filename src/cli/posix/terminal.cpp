// The terminal by ioctl.
#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace troika::cli {

bool is_on_terminal() { return ::isatty(STDERR_FILENO) != 0; }

int terminal_columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace troika::cli
