// The machine on which this process runs.
#pragma once

#include <string>

namespace troika {

std::string host_name();  // empty if it has none
// Returns the identifier of the machine's boot: the same for all processes of a machine, also in
// containers. Empty if the system has none.
std::string boot_id();
// Returns the model of the processor, such as "AMD EPYC"; "CPU" if the system does not say.
std::string processor_name();
// Returns the system's number of the user of this process; empty if users have none.
std::string user_id();

}  // namespace troika
