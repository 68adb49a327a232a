// The machine on which this process runs.
#pragma once

#include <string>

namespace troika {

std::string host_name();  // empty if it has none
// Returns the identifier of the machine's boot: the same for all processes of a machine, also in
// containers. Empty if the system has none.
std::string boot_id();

}  // namespace troika
