// The terminal on which standard error appears.
#pragma once

namespace troika::cli {

bool is_on_terminal();
int terminal_columns();  // 80 if there is none

}  // namespace troika::cli
