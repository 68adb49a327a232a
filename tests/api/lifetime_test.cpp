// Handles keep the objects that they need alive. They may be destroyed in any order; the last
// handle destroys everything.
#include <dirent.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <string_view>
#include <thread>

#include "api/api_test.h"

namespace troika::test {
namespace {

class Lifetime : public ApiTest {};

int entries_in(const char* directory) {
  int n = 0;
  DIR* const opened = ::opendir(directory);
  while (const dirent* entry = ::readdir(opened)) n += std::string_view(entry->d_name).front() != '.';
  ::closedir(opened);
  return n;
}

TEST_F(Lifetime, ends_in_any_order_of_destruction) {
  std::array<int, 6> order = {0, 1, 2, 3, 4, 5};
  do {
    make_trainer();
    tensor_ = make_tensor(TROIKA_DTYPE_F32, {2, 3});
    if (order[0] % 2 == 0) expect_ok(step());
    const std::array<std::function<void()>, 6> destroy = {
        [&] { troika_context_destroy(std::exchange(context_, nullptr)); },
        [&] { troika_model_destroy(std::exchange(model_, nullptr)); },
        [&] { troika_trainer_destroy(std::exchange(trainer_, nullptr)); },
        [&] { troika_dataset_destroy(std::exchange(dataset_, nullptr)); },
        [&] { troika_loader_destroy(std::exchange(loader_, nullptr)); },
        [&] { troika_tensor_destroy(std::exchange(tensor_, nullptr)); }};
    for (int i : order) destroy[static_cast<size_t>(i)]();
    ASSERT_NO_FATAL_FAILURE(SetUp());
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(Lifetime, of_children_goes_on_without_their_parents) {
  make_trainer();
  expect_ok(step());
  troika_model unwrapped = nullptr;
  expect_ok(troika_trainer_unwrap(trainer_, &unwrapped, &error_));
  troika_context_destroy(std::exchange(context_, nullptr));
  troika_dataset_destroy(std::exchange(dataset_, nullptr));
  troika_model_destroy(std::exchange(model_, unwrapped));
  expect_ok(step());
  const std::vector<float> trained = weights();
  troika_trainer_destroy(std::exchange(trainer_, nullptr));
  EXPECT_EQ(weights(), trained) << "the trained values stay with the model";
  expect_ok(troika_model_attach(model_, &kCpu1, 1, nullptr, &trainer_, &error_));
  expect_ok(step());
  EXPECT_NE(weights(), trained);
}

TEST_F(Lifetime, leaves_no_thread_and_no_file_open) {
  const auto run = [&] {
    make_trainer();
    expect_ok(step());
    TearDown();
    model_ = nullptr, tensor_ = nullptr, dataset_ = nullptr, loader_ = nullptr, trainer_ = nullptr, context_ = nullptr;
    SetUp();
  };
  run();  // opens everything that is opened once per process
  const auto threads = [] { return entries_in("/proc/self/task"); };
  const int threads_before = threads(), files_before = entries_in("/proc/self/fd");
  for (int i = 0; i < 5; ++i) run();
  for (int wait = 0; wait < 200 && threads() > threads_before; ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  // A thread that has ended may still be counted before, for a moment. Five runs would leave five.
  EXPECT_LE(threads(), threads_before);
  EXPECT_EQ(entries_in("/proc/self/fd"), files_before);
}

// A callback may destroy what its call uses: finalisers of C# and `del` of Python do.
TEST_F(Lifetime, lets_a_callback_destroy_the_handles_of_its_call) {
  for (bool destroys_all : {false, true}) {
    make_model();
    make_loader(12, 4);
    expect_ok(troika_model_attach(model_, &kCpu0, 1, nullptr, &trainer_, &error_));
    struct Handles {
      troika_loader loader;
      troika_trainer trainer;
      troika_context context;
      bool destroys_all;
      int calls;
    } handles{loader_, trainer_, context_, destroys_all, 0};
    const auto callback = [](const troika_progress*, void* user) -> int32_t {
      auto& h = *static_cast<Handles*>(user);
      if (++h.calls != 1) return 0;
      troika_loader_destroy(h.loader);
      if (!h.destroys_all) return 0;
      troika_trainer_destroy(h.trainer);
      troika_context_destroy(h.context);
      return 0;
    };
    expect_ok(troika_trainer_set_progress(trainer_, callback, &handles, nullptr, &error_));
    troika_metrics metrics = TROIKA_METRICS_INIT;
    expect_ok(troika_trainer_train_epoch(trainer_, loader_, &metrics, &error_));
    EXPECT_EQ(metrics.samples, 12);
    EXPECT_EQ(handles.calls, 3);
    loader_ = nullptr;
    if (destroys_all) trainer_ = nullptr, context_ = nullptr;
    TearDown();
    model_ = nullptr, dataset_ = nullptr, trainer_ = nullptr, context_ = nullptr;
    SetUp();
  }
}

TEST_F(Lifetime, ends_the_user_data_of_callbacks_once) {
  int progress_ended = 0, log_ended = 0;
  const auto ended = [](void* user) { ++*static_cast<int*>(user); };
  const auto quiet = [](const troika_progress*, void*) -> int32_t { return 0; };
  troika_context_destroy(context_);
  troika_context_options options = TROIKA_CONTEXT_OPTIONS_INIT;
  options.log = [](int32_t, const char*, const char*, void*) {};
  options.log_user = &log_ended;
  options.log_user_destroy = ended;
  options.use_environment = 2;
  expect_refused(troika_context_create(&options, &context_, &error_), kInvalid, "options.use_environment is 2");
  EXPECT_EQ(log_ended, 0) << "a call that fails leaves the data to the caller";
  options.use_environment = 0;
  expect_ok(troika_context_create(&options, &context_, &error_));
  make_trainer();
  expect_ok(troika_trainer_set_progress(trainer_, quiet, &progress_ended, ended, &error_));
  expect_ok(step());
  EXPECT_EQ(progress_ended, 0);
  expect_ok(troika_trainer_set_progress(trainer_, quiet, &progress_ended, ended, &error_));
  EXPECT_EQ(progress_ended, 1);
  expect_refused(troika_trainer_set_progress(nullptr, quiet, &progress_ended, ended, &error_), kInvalid, "is NULL");
  EXPECT_EQ(progress_ended, 1);
  troika_context_destroy(std::exchange(context_, nullptr));
  EXPECT_EQ(log_ended, 0) << "the trainer keeps its context";
  TearDown();
  model_ = nullptr, dataset_ = nullptr, loader_ = nullptr, trainer_ = nullptr;
  EXPECT_EQ(progress_ended, 2);
  EXPECT_EQ(log_ended, 1);
}

TEST_F(Lifetime, ends_the_user_data_of_a_context_without_a_log) {
  int ended = 0;
  troika_context_options options = TROIKA_CONTEXT_OPTIONS_INIT;
  options.log_user = &ended;
  options.log_user_destroy = [](void* user) { ++*static_cast<int*>(user); };
  troika_context context = nullptr;
  expect_ok(troika_context_create(&options, &context, &error_));
  EXPECT_EQ(ended, 0);
  troika_context_destroy(context);
  EXPECT_EQ(ended, 1);
}

}  // namespace
}  // namespace troika::test
