// The options of a group in the environment variables of launchers.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "group/group_options.h"

namespace troika {

// Returns the value of a variable; none if it is not set.
using Variables = std::function<std::optional<std::string>(const std::string& name)>;

// Returns rank, size, node, rendezvous and secret as the launcher of this process says: troika run,
// torchrun, Open MPI, another launcher with PMI, or Slurm, the first that is found; a group of one
// process if there is none. INVALID_ARGUMENT, naming the variables, if they contradict each other
// or do not say how to find rank 0.
GroupOptions read_launch_environment(const Variables& variables);

}  // namespace troika
