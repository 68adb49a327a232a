// The C functions of group.h, for a group of one process, and trainers that have a group.
#include <troika/group.h>

#include <utility>

#include "api/api_test.h"

namespace troika::test {
namespace {

class GroupApi : public ApiTest {
 protected:
  ~GroupApi() override { troika_group_destroy(group_); }
  troika_group_options options() const {
    troika_group_options options = TROIKA_GROUP_OPTIONS_INIT;
    options.rank = 0;
    options.processes = 1;
    return options;
  }
  troika_group group_ = nullptr;
};

TEST_F(GroupApi, is_the_group_of_one_process) {
  const troika_group_options alone = options();
  expect_ok(troika_group_create(context_, &alone, &group_, &error_));
  troika_group_info info = TROIKA_GROUP_INFO_INIT;
  expect_ok(troika_group_describe(group_, &info, &error_));
  EXPECT_EQ(info.rank, 0);
  EXPECT_EQ(info.processes, 1);
  EXPECT_EQ(info.local_rank, 0);
  EXPECT_EQ(info.local_processes, 1);
  EXPECT_EQ(info.node, 0);
  EXPECT_EQ(info.nodes, 1);
  expect_ok(troika_group_barrier(group_, &error_));
  expect_refused(troika_group_describe(nullptr, &info, &error_), TROIKA_ERROR_INVALID_ARGUMENT, "argument 'group' is NULL");
  expect_refused(troika_group_barrier(nullptr, &error_), TROIKA_ERROR_INVALID_ARGUMENT, "argument 'group' is NULL");
}

TEST_F(GroupApi, refuses_options) {
  const auto refuse = [&](auto change, const char* message) {
    troika_group_options changed = options();
    change(changed);
    troika_group group = nullptr;
    expect_refused(troika_group_create(context_, &changed, &group, &error_), TROIKA_ERROR_INVALID_ARGUMENT, message);
    EXPECT_EQ(group, nullptr);
  };
  refuse([](auto& o) { o.rank = 1; }, "troika_group_create: options.rank is 1, need 0");
  refuse([](auto& o) { o.processes = 0; }, "options.processes is 0, need 1 to 4096");
  refuse([](auto& o) { o.rank = TROIKA_UNSET; }, "options.rank is -2147483648, need 0");
  refuse([](auto& o) { o.node = -1; }, "options.node is -1");
  refuse([](auto& o) { o.deadline_ms = 0; }, "options.deadline_ms is 0, need 1 to 2147483647");
  refuse([](auto& o) { o.connect_timeout_ms = 0; }, "options.connect_timeout_ms is 0, need 1 to 2147483647");
  refuse([](auto& o) { o.processes = 2; }, "rendezvous is empty, need tcp://host:port, file:///folder/name or mpi://");
  refuse([](auto& o) { o.processes = 2, o.rendezvous = "file://relative"; }, "rendezvous is 'file://relative', need tcp://");
  refuse([](auto& o) { o.processes = 2, o.rendezvous = "tcp://0.0.0.0:0"; }, "and there is no secret");
  expect_refused(troika_group_create(context_, nullptr, nullptr, &error_), TROIKA_ERROR_INVALID_ARGUMENT,
                 "argument 'out_group' is NULL");
}

TEST_F(GroupApi, lets_a_trainer_train_as_without_it) {
  make_trainer();
  expect_ok(step());
  expect_ok(step());
  const std::vector<float> expected = weights();
  const troika_group_options of_one = options();
  expect_ok(troika_group_create(context_, &of_one, &group_, &error_));
  troika_trainer_destroy(std::exchange(trainer_, nullptr));
  troika_loader_destroy(std::exchange(loader_, nullptr));
  troika_dataset_destroy(std::exchange(dataset_, nullptr));
  troika_model_destroy(std::exchange(model_, nullptr));
  make_model();
  make_loader();
  troika_trainer_options with_group = TROIKA_TRAINER_OPTIONS_INIT;
  with_group.momentum = 0.9;
  with_group.group = group_;
  const troika_device devices[] = {{TROIKA_DEVICE_CPU, 0}, {TROIKA_DEVICE_CPU, 1}};
  expect_ok(troika_model_attach(model_, devices, 2, &with_group, &trainer_, &error_));
  troika_group_destroy(std::exchange(group_, nullptr));  // the trainer keeps the group
  expect_ok(step());
  expect_ok(step());
  EXPECT_EQ(weights(), expected);
}

}  // namespace
}  // namespace troika::test
