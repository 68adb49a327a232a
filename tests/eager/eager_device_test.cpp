// Ops one by one: every case of the conformance suite's tables is compared there; here is what only
// running at once has: views, memory, types, threads.
#include "eager/eager_device.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "support/test_context.h"
#include "support/test_device.h"
#include "support/throws.h"

namespace troika {
namespace {

class EagerDeviceTest : public ::testing::Test {
 protected:
  TensorPtr tensor(const Shape& shape, const std::vector<float>& numbers) {
    TensorPtr made = device_.create({DType::f32, shape});
    EXPECT_EQ(numbers.size(), static_cast<size_t>(shape.elements()));
    made->write(numbers.data());
    return made;
  }
  static std::vector<float> numbers_of(const TensorPtr& tensor) {
    std::vector<float> numbers(static_cast<size_t>(tensor->type().shape.elements()));
    tensor->read(numbers.data());
    return numbers;
  }

  EagerDevice device_{BackendRegistry::create(test_backends())->open(test_device(), {2, {}, false})};
};

TEST_F(EagerDeviceTest, runs_an_op_again_with_other_numbers_and_shapes) {
  for (const int64_t n : {3, 5, 3, 1}) {
    const std::vector<float> a(static_cast<size_t>(n), 2), b(static_cast<size_t>(n), static_cast<float>(n));
    const auto y = device_.run(add_op, {tensor({n}, a), tensor({n}, b)});
    EXPECT_EQ(numbers_of(y.at(0)), std::vector<float>(static_cast<size_t>(n), 2 + static_cast<float>(n)));
  }
}

TEST_F(EagerDeviceTest, a_convolution_in_the_kernels_own_layout_returns_plain_numbers) {
  std::vector<float> image(2 * 3 * 8 * 8), weight(16 * 3 * 3 * 3, 0);
  std::iota(image.begin(), image.end(), 0.0f);
  for (size_t k = 0; k < 16; ++k) weight[(k * 3 + k % 3) * 9 + 4] = 1;  // the middle of one channel
  const auto y = device_.run(conv2d_op, {tensor({2, 3, 8, 8}, image), tensor({16, 3, 3, 3}, weight), nullptr},
                             {{"kernel", std::vector<int64_t>{3, 3}},
                              {"stride", std::vector<int64_t>{1, 1}},
                              {"padding", std::vector<int64_t>{1, 1}},
                              {"dilation", std::vector<int64_t>{1, 1}},
                              {"groups", int64_t{1}}});
  const std::vector<float> found = numbers_of(y.at(0));
  for (size_t n = 0; n < 2; ++n)
    for (size_t k = 0; k < 16; ++k)
      for (size_t i = 0; i < 64; ++i)
        ASSERT_NEAR(found[(n * 16 + k) * 64 + i], image[(n * 3 + k % 3) * 64 + i], 1e-3) << n << ' ' << k << ' ' << i;
}

TEST_F(EagerDeviceTest, a_view_shares_the_memory_of_its_base) {
  const TensorPtr base = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  const TensorPtr view =
      device_.run(reshape_op, {base}, {{"shape", std::vector<int64_t>{3, 2}}, {"whole", int64_t{1}}}).at(0);
  EXPECT_EQ(view->data(), base->data());
  device_.run_in_place(scale_op, {base}, {{"factor", 2.0}, {"offset", 0.0}});
  EXPECT_EQ(numbers_of(view), (std::vector<float>{2, 4, 6, 8, 10, 12}));
}

TEST_F(EagerDeviceTest, changes_in_place_also_if_the_kernel_cannot_share_memory) {
  const TensorPtr x = tensor({2, 2}, {1, 2, 3, 4});
  std::byte* const memory = x->data();
  device_.run_in_place(add_op, {x, tensor({2}, {10, 20})}, {{"broadcast", int64_t{1}}});
  EXPECT_EQ(x->data(), memory);
  EXPECT_EQ(numbers_of(x), (std::vector<float>{11, 22, 13, 24}));
  EXPECT_THROWS(Status::invalid_argument, "add: the result is f32[2, 2], the tensor to change is f32[2]",
                device_.run_in_place(add_op, {tensor({2}, {1, 2}), x}, {{"broadcast", int64_t{1}}}));
}

TEST_F(EagerDeviceTest, reads_memory_at_an_odd_address) {
  std::vector<float> memory(9, 0);
  if (!is_on_cpu()) GTEST_SKIP() << "the test lends memory of the host, which a GPU does not read";
  float* const odd = memory.data() + 1;
  std::iota(odd, odd + 8, 1.0f);
  const TensorPtr lent = Tensor::borrow(device_.device(), {DType::f32, {8}}, odd, [] {});
  EXPECT_EQ(numbers_of(device_.run(scale_op, {lent}, {{"factor", 2.0}, {"offset", 1.0}}).at(0)),
            (std::vector<float>{3, 5, 7, 9, 11, 13, 15, 17}));
}

TEST_F(EagerDeviceTest, refuses_tensors_of_two_devices_and_shapes_that_do_not_fit) {
  if (is_on_cpu()) {
    EagerDevice other(BackendRegistry::create()->open({DeviceKind::cpu, 1}, {}));
    const TensorPtr far = other.create({DType::f32, {2}});
    EXPECT_THROWS(Status::invalid_argument, "add: tensors are on cpu:0 and cpu:1, need one device",
                  device_.run(add_op, {tensor({2}, {1, 2}), far}));
  }
  EXPECT_THROWS(Status::invalid_argument, "matmul: inputs have shapes [2, 2] and [3, 1]: 2 columns by 3 rows",
                device_.run(matmul_op, {tensor({2, 2}, {1, 2, 3, 4}), tensor({3, 1}, {1, 2, 3})}));
}

TEST_F(EagerDeviceTest, serves_several_threads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const auto value = static_cast<float>(100 * t + i);
        const TensorPtr x = tensor({4}, {value, value, value, value});
        const TensorPtr y = device_.run(multiply_op, {x, x}).at(0);
        ASSERT_EQ(numbers_of(y), std::vector<float>(4, value * value));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace troika
