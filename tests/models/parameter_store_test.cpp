// Values that an owner holds, and an owner that cannot return them now.
#include "models/parameter_store.h"

#include <gtest/gtest.h>

#include "support/throws.h"

namespace troika {
namespace {

struct Owner : ParameterOwner {
  ParameterStore& store;
  bool is_busy = false;
  explicit Owner(ParameterStore& s) : store(s) {}
  void pull() override {
    if (is_busy) throw Error(Status::busy, "the owner is in a step");
    store.allocate(0).assign(sizeof(float), std::byte{1});
  }
};

// Replicas upload if the version has changed: an attempt that failed changes nothing.
TEST(ParameterStore, KeepsItsVersionIfItsOwnerIsBusy) {
  ParameterStore store;
  Parameter parameter;
  parameter.name = "w";
  parameter.type = {DType::f32, {1}};
  store.add({parameter});
  const float value = 2;
  store.write(0, &value, sizeof value);
  Owner owner(store);
  store.set_owner(&owner);
  store.mark_newer(&owner);
  const uint64_t version = store.version();
  float read = 0;
  owner.is_busy = true;
  EXPECT_THROWS(Status::busy, "the owner is in a step", (store.read(0, &read, sizeof read), 0));
  EXPECT_EQ(store.version(), version);
  owner.is_busy = false;
  store.read(0, &read, sizeof read);
  EXPECT_GT(store.version(), version);
  store.give_up(&owner);
}

}  // namespace
}  // namespace troika
