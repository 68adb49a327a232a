// Errors of the system as text.
#pragma once

#include <string>

namespace troika {

// Returns the text of an error of GetLastError() with its number, on one line.
std::string error_text(unsigned long error);

}  // namespace troika
