// The one list that names the communicators.
#include "comm/communicators.h"

#include "comm/local/local_group.h"
#include "core/text.h"

namespace troika {

void Communicator::start_all_gather(int, std::byte*, const std::vector<OwnedBytes>&) {
  throw Error(Status::unsupported, "all_gather: this kind of device has none; need CPU devices");
}

void Communicator::start_reduce_scatter(int, float*, const std::vector<OwnedBytes>&) {
  throw Error(Status::unsupported, "reduce_scatter: this kind of device has none; need CPU devices");
}

void Communicator::reserve(int, int, size_t) {}

void Communicator::send(int, int, const void*, size_t, Deadline) {
  throw Error(Status::unsupported, "messages between ranks: this kind of device has none; need CPU devices");
}

void Communicator::receive(int, int, void*, size_t, Deadline) {
  throw Error(Status::unsupported, "messages between ranks: this kind of device has none; need CPU devices");
}

std::vector<std::unique_ptr<Communicator>> create_local_communicators(int size, int slots) {
  const auto group = LocalGroup::create(size, slots);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int rank = 0; rank < size; ++rank) communicators.push_back(group->communicator(rank));
  return communicators;
}

std::vector<std::unique_ptr<Communicator>> create_communicators(const std::vector<std::shared_ptr<Device>>& devices,
                                                                int slots) {
  for (const auto& device : devices)
    if (device->id().kind != devices[0]->id().kind)
      throw Error(Status::invalid_argument, text("devices ", devices[0]->id(), " and ", device->id(),
                                                 " cannot train together: need devices of one kind"));
  if (auto* factory = dynamic_cast<CommunicatorFactory*>(devices[0].get()))
    return factory->create_communicators(devices, slots);
  return create_local_communicators(static_cast<int>(devices.size()), slots);
}

}  // namespace troika
