// The choice of a transport: the order of the choice, and the errors if there is none.
#include "comm/transports.h"

#include <gtest/gtest.h>

#include "plan/fake_device.h"
#include "support/throws.h"

namespace troika {
namespace {

class DeviceOfKind : public FakeDevice {
 public:
  explicit DeviceOfKind(DeviceId id) : id_(id) {}
  DeviceId id() const override { return id_; }

 private:
  DeviceId id_;
};

World world_of(const std::vector<DeviceKind>& kinds, int size) {
  World world{size, {}, false};
  for (DeviceKind kind : kinds) {
    const int rank = static_cast<int>(world.local.size());
    world.local.push_back({rank, std::make_shared<DeviceOfKind>(DeviceId{kind, rank})});
  }
  return world;
}

std::unique_ptr<Transport> create_none(const World&) { return nullptr; }
const TransportDef kAny{"any", [](const World&) { return true; }, create_none};
const TransportDef kPairs{"pairs", [](const World& world) { return world.size == 2; }, create_none};
const TransportDef kNever{"never", [](const World&) { return false; }, create_none};

constexpr DeviceKind kCpu = DeviceKind::cpu, kCuda = DeviceKind::cuda;

TEST(Transports, AreAskedInOrderAndThoseOfBackendsFirst) {
  const World pair = world_of({kCpu, kCpu}, 2), three = world_of({kCpu, kCpu, kCpu}, 3);
  EXPECT_STREQ(choose_transport(pair, {}).name, "threads");
  EXPECT_EQ(&choose_transport(pair, {&kNever, &kPairs, &kAny}), &kPairs);
  EXPECT_EQ(&choose_transport(three, {&kNever, &kPairs, &kAny}), &kAny);
  EXPECT_STREQ(choose_transport(three, {&kPairs}).name, "threads");
}

TEST(Transports, OfThreadsConnectOnlyCpusOfThisProcess) {
  EXPECT_EQ(&choose_transport(world_of({kCuda, kCuda}, 2), {&kPairs}), &kPairs);
  EXPECT_THROWS(Status::unsupported, "devices such as cuda:0 cannot train together: no transport connects them",
                choose_transport(world_of({kCuda, kCuda}, 2), {}));
  EXPECT_THROWS(Status::unsupported, "devices such as cpu:0 cannot train together",
                choose_transport(world_of({kCpu, kCpu}, 4), {}));  // two of four ranks are elsewhere
  EXPECT_THROWS(Status::unsupported, "devices such as cpu:0 cannot train together",
                choose_transport(world_of({kCpu, kCuda}, 2), {&kNever}));  // the GPUs' transport connects these
}

}  // namespace
}  // namespace troika
