// AtomicFile if system calls fail, the process is killed, or the disk is full: the complete old
// file or the complete new file remains.
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/atomic_file.h"
#include "core/fault_file_system.h"
#include "state/file_helpers.h"
#include "support/temp_directory.h"

namespace troika {
namespace {

using namespace test;
namespace fs = std::filesystem;

const std::string kOld(5000, 'o');
const std::string kNew(9000, 'n');

// Writes the new file in three writes.
void save(const fs::path& path, const FileSystem& file_system) {
  AtomicFile file("weights file", path.string(), kNew.size(), file_system);
  for (int part = 0; part < 3; ++part) file.write(kNew.data() + 3000 * part, 3000);
  file.commit();
}

const std::vector<std::string> kCalls = {"open",  "open",  "chmod", "allocate", "write", "write",
                                         "write", "fsync", "close", "rename",   "fsync", "close"};
constexpr size_t kRename = 9, kDirectoryFsync = 10;

TEST(AtomicFileFaults, MakesTheCallsOfTheRecipeInItsOrder) {
  TempDirectory directory;
  write_whole(directory.path() / "w", kOld);
  FaultFileSystem file_system;
  save(directory.path() / "w", file_system);
  EXPECT_EQ(file_system.calls(), kCalls);
}

TEST(AtomicFileFaults, KeepsThePreviousFileWhicheverCallFails) {
  for (const Fault fault : {Fault::fail, Fault::fail_from_here}) {
    for (const int code : {EIO, ENOSPC, EDQUOT, EROFS}) {
      for (size_t k = 0; k < kCalls.size(); ++k) {
        SCOPED_TRACE(kCalls[k] + " as call " + std::to_string(k) + " gives " + std::to_string(code));
        TempDirectory directory;
        const fs::path path = directory.path() / "w";
        write_whole(path, kOld);
        const FaultFileSystem file_system(fault, k, code);
        const auto error = error_of([&] { save(path, file_system); });
        // Failing to set the mode, or to close the directory, is harmless.
        const bool is_harmless = (fault == Fault::fail && kCalls[k] == "chmod") || k == kCalls.size() - 1;
        EXPECT_EQ(!error, is_harmless);
        EXPECT_EQ(read_whole(path), k < kDirectoryFsync && !is_harmless ? kOld : kNew);
        EXPECT_EQ(names_in(directory.path()).size(), 1u);
        if (!error) continue;
        EXPECT_EQ(error->status(), Status::io);
        const std::string message = error->what();
        EXPECT_EQ(message.find("weights file '" + path.string() + "': cannot "), 0u) << message;
        EXPECT_NE(message.find(" (" + std::to_string(code) + "); "), std::string::npos) << message;
        EXPECT_NE(message.find(k < kDirectoryFsync ? "; the previous file is unchanged" : "; the new file is in place"),
                  std::string::npos)
            << message;
      }
    }
  }
}

TEST(AtomicFileFaults, LeavesNothingWhereThereWasNoPreviousFile) {
  for (size_t k = 0; k <= kRename - 1; ++k) {  // no chmod
    TempDirectory directory;
    const auto error = error_of([&] { save(directory.path() / "w", FaultFileSystem(Fault::fail, k, ENOSPC)); });
    ASSERT_TRUE(error) << k;
    EXPECT_NE(std::string(error->what()).find("No space left on device (28); nothing was written"), std::string::npos);
    EXPECT_TRUE(names_in(directory.path()).empty());
  }
}

TEST(AtomicFileFaults, SaysWhatFailedInOneLine) {
  TempDirectory directory;
  const fs::path path = directory.path() / "w";
  write_whole(path, kOld);
  const std::vector<std::pair<size_t, std::string>> expected = {{3, "cannot write"},
                                                                {5, "cannot write"},
                                                                {7, "cannot flush to disk"},
                                                                {8, "cannot close"},
                                                                {9, "cannot rename the finished file into place"}};
  for (const auto& [k, action] : expected)
    EXPECT_EQ(error_of([&] { save(path, FaultFileSystem(Fault::fail, k, ENOSPC)); })->what(),
              "weights file '" + path.string() + "': " + action +
                  ": No space left on device (28); the previous file is unchanged");
}

TEST(AtomicFileFaults, GoesOnAfterInterruptsAndShortWrites) {
  TempDirectory directory;
  FaultFileSystem file_system;
  file_system.interrupts = true;
  file_system.largest_transfer = 7;
  save(directory.path() / "w", file_system);
  EXPECT_EQ(read_whole(directory.path() / "w"), kNew);
}

TEST(AtomicFileFaults, WritesWhereRoomCannotBeReserved) {
  for (const int code : {EOPNOTSUPP, EINVAL, ENOSYS}) {
    TempDirectory directory;
    FaultFileSystem file_system;
    file_system.allocate_error = code;
    save(directory.path() / "w", file_system);
    EXPECT_EQ(read_whole(directory.path() / "w"), kNew);
  }
}

TEST(AtomicFileFaults, AcceptsADirectoryThatCannotBeFlushed) {
  TempDirectory directory;
  write_whole(directory.path() / "w", kOld);
  save(directory.path() / "w", FaultFileSystem(Fault::fail, kDirectoryFsync, EINVAL));
  EXPECT_EQ(read_whole(directory.path() / "w"), kNew);
}

// Runs `body` in a child process. Returns the status of waitpid. A body that returns exits with 0,
// a body that throws with 1.
template <typename Body>
int in_child(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 0;
    try {
      body();
    } catch (...) {
      code = 1;
    }
    ::_exit(code);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

TEST(AtomicFileFaults, KeepsTheOldOrTheNewFileWhereverTheProcessIsKilled) {
  for (const Fault fault : {Fault::die, Fault::die_halfway}) {
    for (size_t k = 0; k < kCalls.size(); ++k) {
      SCOPED_TRACE(kCalls[k] + " as call " + std::to_string(k));
      TempDirectory directory;
      const fs::path path = directory.path() / "w";
      write_whole(path, kOld);
      const int status = in_child([&] { save(path, FaultFileSystem(fault, k, 0)); });
      ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
      const bool is_renamed = fault == Fault::die ? k > kRename : k >= kRename;
      EXPECT_EQ(read_whole(path), is_renamed ? kNew : kOld);
      // Remaining temporary files do not prevent the next save.
      save(path, FileSystem::real());
      EXPECT_EQ(read_whole(path), kNew);
    }
  }
}

TEST(AtomicFileFaults, SurvivesALimitOnFileSizesWithoutASignal) {
  TempDirectory directory;
  const fs::path path = directory.path() / "w";
  write_whole(path, kOld);
  const int status = in_child([&] {
    ::signal(SIGXFSZ, SIG_DFL);
    const rlimit limit{8000, 8000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(2);
    const auto error = error_of([&] { save(path, FileSystem::real()); });
    const bool is_told =
        error && std::strstr(error->what(), "cannot write: File too large (27); the previous file is unchanged");
    ::_exit(is_told ? 10 : 3);
  });
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 10);
  EXPECT_EQ(read_whole(path), kOld);
  EXPECT_EQ(names_in(directory.path()).size(), 1u);
}

TEST(AtomicFileFaults, KeepsThePreviousFileOnAFullDisk) {
  TempDirectory directory;
  for (const int allocate_error : {0, EOPNOTSUPP}) {  // without reservation, writing fails
    const int status = in_child([&] {
      if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
          ::mount("none", directory.path().string().c_str(), "tmpfs", 0, "size=64k") != 0)
        ::_exit(20);
      const fs::path path = directory.path() / "w";
      write_whole(path, kOld);
      FaultFileSystem file_system;
      file_system.allocate_error = allocate_error;
      const std::string large(1 << 20, 'n');
      const auto error = error_of([&] { write_file_atomically("weights file", path.string(), large, file_system); });
      const bool is_told =
          error &&
          std::strstr(error->what(), "cannot write: No space left on device (28); the previous file is unchanged");
      if (!is_told) ::_exit(3);
      if (read_whole(path) != kOld || names_in(directory.path()).size() != 1) ::_exit(4);
      save(path, FileSystem::real());  // there is room for a smaller file
      ::_exit(read_whole(path) == kNew ? 10 : 5);
    });
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    if (WEXITSTATUS(status) == 20) GTEST_SKIP() << "mounting a small tmpfs is not allowed here";
    EXPECT_EQ(WEXITSTATUS(status), 10);
  }
}

}  // namespace
}  // namespace troika
