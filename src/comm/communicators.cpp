// The one list that names the communicators.
#include "comm/communicators.h"

#include "comm/local/local_group.h"
#include "comm/local/local_messages.h"
#include "core/text.h"

namespace troika {
namespace {

void require_one_kind(const std::vector<std::shared_ptr<Device>>& devices) {
  for (const auto& device : devices)
    if (device->id().kind != devices[0]->id().kind)
      throw Error(Status::invalid_argument, text("devices ", devices[0]->id(), " and ", device->id(),
                                                 " cannot train together: need devices of one kind"));
}

}  // namespace

std::vector<std::unique_ptr<Communicator>> create_local_communicators(int size, int slots) {
  const auto group = LocalGroup::create(size, slots);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int rank = 0; rank < size; ++rank) communicators.push_back(group->communicator(rank));
  return communicators;
}

std::vector<std::unique_ptr<Messenger>> create_local_messengers(int size) {
  const auto messages = LocalMessages::create(size);
  std::vector<std::unique_ptr<Messenger>> messengers;
  for (int rank = 0; rank < size; ++rank) messengers.push_back(messages->messenger(rank));
  return messengers;
}

std::vector<std::unique_ptr<Communicator>> create_communicators(const std::vector<std::shared_ptr<Device>>& devices,
                                                                int slots, bool needs_fixed_order) {
  require_one_kind(devices);
  if (auto* factory = dynamic_cast<CommunicatorFactory*>(devices[0].get()))
    return factory->create_communicators(devices, slots, needs_fixed_order);
  return create_local_communicators(static_cast<int>(devices.size()), slots);
}

std::vector<std::unique_ptr<Messenger>> create_messengers(const std::vector<std::shared_ptr<Device>>& devices) {
  require_one_kind(devices);
  if (auto* factory = dynamic_cast<MessengerFactory*>(devices[0].get())) return factory->create_messengers(devices);
  return create_local_messengers(static_cast<int>(devices.size()));
}

}  // namespace troika
