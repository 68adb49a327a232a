// The one list that names the communicators.
#include "comm/communicators.h"

#include "comm/local/local_group.h"

namespace troika {

std::vector<std::unique_ptr<Communicator>> create_local_communicators(int size, int slots) {
  const auto group = LocalGroup::create(size, slots);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int rank = 0; rank < size; ++rank) communicators.push_back(group->communicator(rank));
  return communicators;
}

}  // namespace troika
