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
    tensor_ = make_tensor(TROIKA_F32, {2, 3});
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
  for (int wait = 0; wait < 200 && threads() != threads_before; ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(threads(), threads_before);
  EXPECT_EQ(entries_in("/proc/self/fd"), files_before);
}

}  // namespace
}  // namespace troika::test
