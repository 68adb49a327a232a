// Threads that run a CPU device's launches for a while: their team, and how they are left.
#include <gtest/gtest.h>

#include <filesystem>
#include <mutex>
#include <numeric>
#include <thread>

#include "backends/cpu/threads.h"
#include "eager/eager_device.h"
#include "support/test_context.h"

namespace troika {
namespace {

std::shared_ptr<Device> device_with(int threads) {
  return BackendRegistry::create(test_backends())->open({DeviceKind::cpu, 0}, {threads, {}, false});
}

// Returns the parts into which the calling thread's kernels divide much work.
int parts() {
  std::mutex mutex;
  int count = 0;
  int64_t sum = 0;
  cpu::parallel_for(1000, 1, [&](int64_t begin, int64_t end) {
    const std::lock_guard lock(mutex);
    ++count;
    sum += end - begin;
  });
  EXPECT_EQ(sum, 1000);
  return count;
}

template <typename Function>
auto on_a_new_thread(Function function) {
  decltype(function()) result = {};
  std::thread([&] { result = function(); }).join();
  return result;
}

int parts_of_worker(int threads) {
  return on_a_new_thread([&] { return device_with(threads)->enter_thread(), parts(); });
}

TEST(BorrowedThread, has_a_team_of_one_until_a_kernel_needs_more) {
  for (const int threads : {1, 2, 3}) {
    const auto device = device_with(threads);
    const auto found = on_a_new_thread([&] {
      const BorrowedThread thread(*device);
      std::vector<int> counts = {parts()};
      {
        const cpu::BorrowedTeam team(threads);
        counts.push_back(parts());
      }
      counts.push_back(parts());
      return counts;
    });
    EXPECT_EQ(found, (std::vector<int>{1, parts_of_worker(threads), 1}));
  }
}

TEST(BorrowedThread, leaves_a_worker_as_it_was) {
  const auto device = device_with(2), other = device_with(3);
  const auto found = on_a_new_thread([&] {
    device->enter_thread();
    { const BorrowedThread thread(*other); }
    return parts();
  });
  EXPECT_EQ(found, parts_of_worker(2));
}

#ifdef __linux__
// Returns the threads that the op starts when a new thread calls it.
int64_t threads_started(int64_t n) {
  return on_a_new_thread([n] {
    EagerDevice device(device_with(3));
    const TensorPtr x = device.create({DType::f32, {n}});
    std::vector<float> numbers(static_cast<size_t>(n));
    std::iota(numbers.begin(), numbers.end(), 0.0f);
    x->write(numbers.data());
    const auto count = [] {
      const std::filesystem::directory_iterator tasks("/proc/self/task");
      return std::distance(begin(tasks), end(tasks));
    };
    const auto before = count();
    const TensorPtr y = device.run(relu_op, {x}).at(0);
    std::vector<float> found(numbers.size());
    y->read(found.data());
    EXPECT_EQ(found, numbers);
    return count() - before;
  });
}

TEST(BorrowedThread, runs_ops_on_many_bytes_with_the_threads_of_its_device) {
  EXPECT_EQ(threads_started(1000), 0);
  EXPECT_EQ(threads_started(1000003), parts_of_worker(3) - 1);
}
#endif

}  // namespace
}  // namespace troika
