// The terminal on which standard error and standard output appear.
#pragma once

namespace troika::cli {

bool is_on_terminal();
int terminal_columns();  // 80 if there is none

// Returns the columns of standard output; 0: it is no terminal, and lines may have any width.
int output_columns();

// Writes to standard error. May be called by a handler of signals.
void write_at_once(const char* text, int size);

}  // namespace troika::cli
