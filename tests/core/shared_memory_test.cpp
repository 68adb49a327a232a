// Blocks that other processes map.
#include "core/shared_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <optional>
#include <thread>

#include "core/shared_signal.h"
#include "support/throws.h"

namespace troika {
namespace {

using namespace std::chrono_literals;

TEST(SharedMemory, IsFoundByItsAddresses) {
  std::optional<SharedMemory> block(std::in_place, 10'000);
  EXPECT_EQ(block->data()[9'999], std::byte{0});
  const auto place = SharedMemory::find(block->data() + 77);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->offset, 77);
  EXPECT_EQ(place->bytes, 10'000);
  EXPECT_EQ(place->block, block->place().block);
  EXPECT_FALSE(SharedMemory::find(block->data() + 10'000));
  int local = 0;
  EXPECT_FALSE(SharedMemory::find(&local));
  const std::byte* const before = block->data();
  block.reset();
  EXPECT_FALSE(SharedMemory::find(before));
}

TEST(SharedMemory, IsMappedAgain) {
  const SharedMemory block(8192);
  const ForeignMemory other(SharedPlace::decode(block.place().encode()));
  other.data()[4101] = std::byte{42};
  EXPECT_EQ(block.data()[4101], std::byte{42});
}

TEST(SharedMemory, NamesAProcessThatIsNotThere) {
  SharedPlace place = SharedMemory(4096).place();  // whose file is closed
  EXPECT_THROWS(Status::comm, "memory of the system's process", ForeignMemory(place));
}

// Another process may have a file of the same number.
TEST(SharedMemory, RefusesAnotherFile) {
  const SharedMemory block(4096), other(4096);
  SharedPlace place = block.place();
  place.file = other.place().file;
  EXPECT_THROWS(Status::comm, "another file has the place of the block", ForeignMemory(place));
  place.file = STDIN_FILENO;
  EXPECT_THROWS(Status::comm, "memory of the system's process", ForeignMemory(place));
}

// Without a check the system would end the process.
TEST(SharedMemory, EndsAtTheLimitOfFileSizes) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit limited = before;
  limited.rlim_cur = 8192;
  setrlimit(RLIMIT_FSIZE, &limited);
  EXPECT_THROWS(Status::out_of_memory, "ulimit -f", SharedMemory(8193));
  EXPECT_NO_THROW(SharedMemory(8192));
  setrlimit(RLIMIT_FSIZE, &before);
}

// A child that has the library's memory could write into that of its parent.
TEST(SharedMemory, IsNotThereAfterAFork) {
  const SharedMemory block(4096);
  const pid_t child = fork();
  if (child == 0) {
    block.data()[0] = std::byte{1};
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 0);  // a sanitizer turns the signal into a status
  EXPECT_EQ(block.data()[0], std::byte{0});
}

TEST(SharedSignal, EndsASleepAtAChangeOrAtTheDeadline) {
  const SharedMemory block(64);
  auto& signal = *reinterpret_cast<SharedSignal*>(block.data());
  const auto now = [] { return std::chrono::steady_clock::now(); };
  auto begin = now();
  signal.sleep(signal.seen(), begin + 30ms);
  EXPECT_LT(now() - begin, 5s);
  const uint32_t seen = signal.seen();
  signal.notify_all();
  begin = now();
  signal.sleep(seen, begin + 20s);  // the change came before
  std::thread other([&] {
    std::this_thread::sleep_for(20ms);
    signal.notify_all();
  });
  signal.sleep(signal.seen(), begin + 20s);
  other.join();
  EXPECT_LT(now() - begin, 5s);
}

}  // namespace
}  // namespace troika
