// The groups that this build can make. communicators.cpp is the one list that names their leaves.
#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "comm/messenger.h"

namespace troika {

// One communicator a rank, for `size` ranks that are threads of this process and whose data lie in host memory, with
// slots 0 .. slots - 1.
std::vector<std::unique_ptr<Communicator>> create_local_communicators(int size, int slots);

// One messenger a rank, for ranks of that kind.
std::vector<std::unique_ptr<Messenger>> create_local_messengers(int size);

// The same for the ranks of these devices, wherever their data lie, with slots 0 .. slots - 1. Sums come in a fixed order of
// ranks where `needs_fixed_order`, which may be slower. INVALID_ARGUMENT where the devices are of several kinds.
std::vector<std::unique_ptr<Communicator>> create_communicators(const std::vector<std::shared_ptr<Device>>& devices,
                                                                int slots, bool needs_fixed_order);
std::vector<std::unique_ptr<Messenger>> create_messengers(const std::vector<std::shared_ptr<Device>>& devices);

}  // namespace troika
