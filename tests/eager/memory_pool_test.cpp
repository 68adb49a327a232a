// Memory of tensors that come and go.
#include "eager/memory_pool.h"

#include <gtest/gtest.h>

#include <thread>

#include "support/test_device.h"

namespace troika {
namespace {

std::shared_ptr<Device> open_cpu() { return BackendRegistry::create()->open({DeviceKind::cpu, 0}, {}); }

TEST(MemoryPool, uses_freed_blocks_again_for_tensors_of_about_their_size) {
  const auto pool = std::make_shared<MemoryPool>(open_cpu(), 1 << 20);
  const std::byte* first = nullptr;
  {
    const Buffer block = pool->allocate(100'000, "a block");
    first = block.get();
    EXPECT_EQ(pool->kept_bytes(), 0u);
  }
  EXPECT_GE(pool->kept_bytes(), 100'000u);
  const Buffer smaller = pool->allocate(97'000, "a block");
  EXPECT_EQ(smaller.get(), first);
  EXPECT_EQ(pool->kept_bytes(), 0u);
  const Buffer other = pool->allocate(97'000, "a block");
  EXPECT_NE(other.get(), first);
}

TEST(MemoryPool, does_not_waste_a_large_block_on_a_small_tensor) {
  const auto pool = std::make_shared<MemoryPool>(open_cpu(), 1 << 20);
  const std::byte* const large = pool->allocate(500'000, "a block").get();
  const Buffer small = pool->allocate(1000, "a block");
  EXPECT_NE(small.get(), large);
  EXPECT_GE(pool->kept_bytes(), 500'000u);
}

TEST(MemoryPool, keeps_at_most_its_limit_and_nothing_after_trim) {
  const auto pool = std::make_shared<MemoryPool>(open_cpu(), 100'000);
  {
    std::vector<Buffer> blocks;
    for (int i = 0; i < 20; ++i) blocks.push_back(pool->allocate(10'000, "a block"));
  }
  EXPECT_LE(pool->kept_bytes(), 100'000u);
  EXPECT_GT(pool->kept_bytes(), 50'000u);
  pool->trim();
  EXPECT_EQ(pool->kept_bytes(), 0u);
}

TEST(MemoryPool, lives_as_long_as_its_blocks) {
  Buffer block = no_buffer();
  {
    const auto pool = std::make_shared<MemoryPool>(open_cpu(), 1 << 20);
    block = pool->allocate(1000, "a block");
  }
  block.get()[999] = std::byte{7};
  EXPECT_EQ(block.get()[999], std::byte{7});
}

TEST(MemoryPool, serves_several_threads) {
  const auto pool = std::make_shared<MemoryPool>(open_cpu(), 1 << 20);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const Buffer block = pool->allocate(static_cast<size_t>(1000 + 100 * (i % 7)), "a block");
        const auto mark = static_cast<std::byte>(t);
        std::fill_n(block.get(), 1000, mark);
        std::this_thread::yield();
        ASSERT_EQ(std::count(block.get(), block.get() + 1000, mark), 1000);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace troika
