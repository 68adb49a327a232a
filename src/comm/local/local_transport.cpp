// Groups of threads.
#include "comm/local/local_transport.h"

#include <algorithm>

#include "comm/local/local_group.h"
#include "comm/local/local_messages.h"

namespace troika {
namespace {

bool connects(const World& world) {
  return world.is_whole() && world.local.size() == static_cast<size_t>(world.size) &&
         std::all_of(world.local.begin(), world.local.end(),
                     [](const LocalMember& member) { return member.device->id().kind == DeviceKind::cpu; });
}

class LocalTransport : public Transport {
 public:
  std::vector<std::unique_ptr<Communicator>> create_communicators(const std::vector<int>& group) override {
    return LocalGroup::create_communicators(static_cast<int>(group.size()));
  }
  std::vector<std::unique_ptr<Messenger>> create_messengers(const std::vector<int>& group) override {
    return LocalMessages::create_messengers(static_cast<int>(group.size()));
  }
};

}  // namespace

const TransportDef local_transport{
    "threads", connects, [](const World&) -> std::unique_ptr<Transport> { return std::make_unique<LocalTransport>(); }};

}  // namespace troika
