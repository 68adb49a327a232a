// Tests of the names of devices, and of the search for a device's backend.
#include "device/backend.h"

#include <gtest/gtest.h>

#include "core/text.h"
#include "support/throws.h"

namespace troika {
namespace {

class FakeBackend : public Backend {
 public:
  explicit FakeBackend(DeviceKind kind, int count) : kind_(kind), count_(count) {}
  DeviceKind kind() const override { return kind_; }
  int device_count() const override { return count_; }
  DeviceInfo describe(int) const override { return {}; }
  std::shared_ptr<Device> open(int, const DeviceShare&) const override { return nullptr; }

 private:
  DeviceKind kind_;
  int count_;
};

TEST(DeviceId, PrintsAndParses) {
  for (const char* name : {"cpu:0", "cpu:7", "cuda:0", "cuda:12"}) EXPECT_EQ(to_string(parse_device(name)), name);
  EXPECT_EQ(text(DeviceId{DeviceKind::cuda, 3}), "cuda:3");
}

TEST(DeviceId, IsTheFirstOfItsKindWithoutANumber) {
  EXPECT_EQ(parse_device("cpu"), (DeviceId{DeviceKind::cpu, 0}));
  EXPECT_EQ(parse_device("cuda"), (DeviceId{DeviceKind::cuda, 0}));
}

TEST(DeviceId, RefusesWhatIsNoDevicesName) {
  for (const char* name :
       {"", "gpu", "CPU", "cpu:", "cpu:-1", "cpu:+1", "cpu: 1", "cpu:1 ", "cpu:1:2", "cpu:x", ":0", "cuda:99999999999"})
    EXPECT_THROWS(Status::invalid_argument, text("device '", name, "' is none; need cpu, cpu:N or cuda:N"),
                  parse_device(name));
}

TEST(BackendRegistry, FindsTheBackendOfAKind) {
  BackendRegistry registry;
  registry.add(std::make_unique<FakeBackend>(DeviceKind::cpu, 2));
  registry.add(std::make_unique<FakeBackend>(DeviceKind::cuda, 4));
  EXPECT_EQ(registry.device_count(DeviceKind::cpu), 2);
  EXPECT_EQ(registry.device_count(DeviceKind::cuda), 4);
  EXPECT_EQ(registry.require({DeviceKind::cuda, 3}).kind(), DeviceKind::cuda);
}

TEST(BackendRegistry, TellsHowManyDevicesThereAre) {
  BackendRegistry registry;
  registry.add(std::make_unique<FakeBackend>(DeviceKind::cpu, 2));
  for (int index : {2, -1})
    EXPECT_THROWS(Status::device_unavailable, text("device cpu:", index, " does not exist; there are 2, from cpu:0"),
                  registry.require({DeviceKind::cpu, index}));
}

TEST(BackendRegistry, TellsWhyAKindIsNotUsable) {
  BackendRegistry registry;
  registry.add_unavailable(DeviceKind::cuda, "libcuda.so.1 is not there");
  EXPECT_EQ(registry.device_count(DeviceKind::cuda), 0);
  EXPECT_THROWS(Status::device_unavailable, "device cuda:0 is not usable: libcuda.so.1 is not there",
                registry.require({DeviceKind::cuda, 0}));
  EXPECT_THROWS(Status::device_unavailable, "device cpu:0 is of a kind that this library does not have",
                registry.require({DeviceKind::cpu, 0}));
}

TEST(BackendRegistry, AlwaysHasTheCpu) {
  const auto registry = BackendRegistry::create();
  EXPECT_GE(registry->device_count(DeviceKind::cpu), 8);
  EXPECT_EQ(registry->open({DeviceKind::cpu, 1}, {})->id(), (DeviceId{DeviceKind::cpu, 1}));
  const DeviceInfo info = registry->require({DeviceKind::cpu, 0}).describe(0);
  EXPECT_FALSE(info.name.empty());
  EXPECT_GE(info.cores, 1);
  EXPECT_GT(info.memory_bytes, 0);
  EXPECT_GT(info.free_bytes, 0);
}

}  // namespace
}  // namespace troika
