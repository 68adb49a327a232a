// The cores of the machine, and which of them a thread uses.
#pragma once

#include <vector>

namespace troika {

// Returns the numbers of the cores on which this process may run: at least one.
std::vector<int> allowed_cores();

// From now on the calling thread runs on these cores alone. Only a matter of speed: a refusal is no
// error.
void pin_thread(const std::vector<int>& cores);

}  // namespace troika
