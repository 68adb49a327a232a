// Messages between ranks of several processes, whose data are stored in host memory.
#pragma once

#include <memory>
#include <vector>

#include "comm/messenger.h"
#include "comm/processes/shared_link.h"

namespace troika {

// Returns the ends of the ranks that this process holds; null for the others. Ranks of this process
// use `local` among themselves: their ends in a group of their own, in the order of their ranks.
std::vector<std::unique_ptr<Messenger>> create_process_messengers(const std::shared_ptr<SharedLink>& link, int id,
                                                                  const std::vector<int>& group,
                                                                  const std::vector<int>& owners,
                                                                  std::vector<std::unique_ptr<Messenger>> local);

}  // namespace troika
