// The fixture of trainers of a group of two processes, which are threads of one program.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/api_test.h"
#include "group/processes.h"

namespace troika::test {

// One process: its objects, and checks.
class GroupProcess : public ApiTest {
 public:
  void TestBody() override {}
  explicit GroupProcess(int rank) : rank_(rank) {}
  // On the thread of the process: joining, the body and leaving are collective.
  void join(int size, const std::string& rendezvous) {
    troika_context_options options = TROIKA_CONTEXT_OPTIONS_INIT;
    options.cpu_threads = 1;
    options.backend_folder = TROIKA_PLUGIN_FOLDER;
    expect_ok(troika_context_create(&options, &context_, &error_));
    troika_group_options of_group = TROIKA_GROUP_OPTIONS_INIT;
    of_group.rank = rank_;
    of_group.processes = size;
    of_group.rendezvous = rendezvous.c_str();
    of_group.deadline_ms = 20'000;
    expect_ok(troika_group_create(context_, &of_group, &group_, &error_));
  }
  void leave() {
    TearDown();
    troika_group_destroy(group_);
  }

  int rank() const { return rank_; }
  // `change` may change options.
  void attach(const std::function<void(troika_trainer_options&)>& change = [](troika_trainer_options&) {},
              int32_t device_count = 2) {
    make_model();
    attach_model(change, device_count);
  }
  // A network with several layers, and a loader of 21 images in batches of 7.
  void attach_lenet(const std::function<void(troika_trainer_options&)>& change, int32_t device_count) {
    expect_ok(troika_model_create(context_, "d2l_lenet", nullptr, &model_, &error_));
    attach_model(change, device_count);
    const int64_t image[] = {1, 28, 28};
    expect_ok(troika_dataset_create_synthetic(context_, image, 3, 21, 10, 1, &dataset_, &error_));
    troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
    options.batch = 7;
    expect_ok(troika_loader_create(dataset_, &options, &loader_, &error_));
    expect_ok(troika_trainer_divide_loader(trainer_, loader_, &error_));
  }
  // A loader that reads this process's rows.
  void load(int64_t n = 24, int32_t batch = 8) {
    make_loader(n, batch);
    expect_ok(troika_trainer_divide_loader(trainer_, loader_, &error_));
  }
  troika_batch next() {
    troika_batch batch = nullptr;
    expect_ok(troika_loader_next(loader_, &batch, &error_));
    return batch;
  }
  void seek(int64_t batch) {
    troika_loader_position position = TROIKA_LOADER_POSITION_INIT;
    position.batch = batch;
    expect_ok(troika_loader_seek(loader_, &position, &error_));
  }
  void set_weights(float value) {
    const std::vector<float> values(48, value);
    expect_ok(troika_model_set_parameter(model_, "fc.weight", values.data(), 192, &error_));
  }

  using ApiTest::context_, ApiTest::dataset_, ApiTest::error_, ApiTest::expect_ok, ApiTest::expect_refused,
      ApiTest::loader_, ApiTest::model_, ApiTest::step, ApiTest::trainer_, ApiTest::weights;
  troika_group group_ = nullptr;

 private:
  void attach_model(const std::function<void(troika_trainer_options&)>& change, int32_t device_count) {
    troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
    options.momentum = 0.9;
    options.group = group_;
    options.deadline_ms = 20'000;
    change(options);
    const troika_device devices[] = {kCpu0, kCpu1, {TROIKA_DEVICE_CPU, 2}, {TROIKA_DEVICE_CPU, 3}};
    expect_ok(troika_model_attach(model_, devices, device_count, &options, &trainer_, &error_));
  }

  const int rank_;
};

class GroupTrainers : public testing::Test {
 protected:
  // Calls body(process) in each of two processes.
  void run(const std::function<void(GroupProcess&)>& body) {
    const TempDirectory folder;
    const std::string rendezvous = "file://" + (folder.path() / "rendezvous").string();
    GroupProcess first(0), second(1);  // GoogleTest's fixtures are made and destroyed by one thread
    on_every_process(2, [&](int rank) {
      GroupProcess& process = rank == 0 ? first : second;
      process.join(2, rendezvous);
      body(process);
      process.leave();
    });
  }
};

}  // namespace troika::test
