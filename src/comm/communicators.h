// The groups that this build can make. communicators.cpp is the one list that names their leaves.
#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.h"

namespace troika {

// One communicator a rank, for `size` ranks that are threads of this process and whose data lie in host memory, with
// slots 0 .. slots - 1.
std::vector<std::unique_ptr<Communicator>> create_local_communicators(int size, int slots);

}  // namespace troika
