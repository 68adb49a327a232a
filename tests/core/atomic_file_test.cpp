// AtomicFile on a working file system: paths, modes, links, errors.
#include "core/atomic_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include "core/fault_file_system.h"
#include "state/file_helpers.h"
#include "support/temp_directory.h"

namespace troika {
namespace {

using namespace test;
namespace fs = std::filesystem;

void save(const fs::path& path, std::string_view bytes) { write_file_atomically("weights file", path.string(), bytes); }

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

class Umask {
 public:
  explicit Umask(mode_t mask) : previous_(::umask(mask)) {}
  ~Umask() { ::umask(previous_); }

 private:
  mode_t previous_;
};

TEST(AtomicFile, WritesANewFileAndLeavesNothingElseBehind) {
  TempDirectory directory;
  save(directory.path() / "w", "hello");
  EXPECT_EQ(read_whole(directory.path() / "w"), "hello");
  EXPECT_EQ(names_in(directory.path()), std::vector<std::string>{"w"});
}

TEST(AtomicFile, ReplacesALongerFileTwice) {
  TempDirectory directory;
  save(directory.path() / "w", std::string(10000, 'a'));
  save(directory.path() / "w", "bb");
  save(directory.path() / "w", "c");
  EXPECT_EQ(read_whole(directory.path() / "w"), "c");
  EXPECT_EQ(names_in(directory.path()).size(), 1u);
}

TEST(AtomicFile, WritesAnEmptyFile) {
  TempDirectory directory;
  save(directory.path() / "w", "");
  EXPECT_EQ(read_whole(directory.path() / "w"), "");
}

TEST(AtomicFile, ShowsTheNewBytesOnlyAfterCommit) {
  TempDirectory directory;
  const fs::path path = directory.path() / "w";
  save(path, "old");
  AtomicFile file("weights file", path.string(), 3);
  file.write("n", 1);
  file.write("ew", 2);
  EXPECT_EQ(read_whole(path), "old");
  file.commit();
  EXPECT_EQ(read_whole(path), "new");
}

TEST(AtomicFile, LeavesThePreviousFileWhenItIsAbandoned) {
  TempDirectory directory;
  save(directory.path() / "w", "old");
  {
    AtomicFile file("weights file", (directory.path() / "w").string(), 3);
    file.write("n", 1);
    EXPECT_EQ(names_in(directory.path()).size(), 2u);
  }
  EXPECT_EQ(read_whole(directory.path() / "w"), "old");
  EXPECT_EQ(names_in(directory.path()).size(), 1u);
}

TEST(AtomicFile, NamesItsTemporaryFileAfterTheTargetAndTheProcess) {
  TempDirectory directory;
  AtomicFile file("weights file", (directory.path() / "w").string(), 3);
  const std::string expected = ".w.tmp." + std::to_string(::getpid()) + ".";
  ASSERT_EQ(names_in(directory.path()).size(), 1u);
  EXPECT_EQ(names_in(directory.path())[0].substr(0, expected.size()), expected);
}

TEST(AtomicFile, RefusesFewerOrMoreBytesThanAnnounced) {
  TempDirectory directory;
  const std::string path = (directory.path() / "w").string();
  EXPECT_EQ(error_of([&] {
              AtomicFile file("weights file", path, 3);
              file.write("n", 1);
              file.commit();
            })->status(),
            Status::internal);
  EXPECT_EQ(error_of([&] {
              AtomicFile file("weights file", path, 3);
              file.write("long", 4);
            })->status(),
            Status::internal);
  EXPECT_TRUE(names_in(directory.path()).empty());
}

TEST(AtomicFile, KeepsTheModeOfThePreviousFileWhateverTheUmask) {
  TempDirectory directory;
  const Umask umask(0077);
  for (mode_t mode : {0600u, 0640u, 0664u, 0400u}) {
    save(directory.path() / "w", "old");
    ASSERT_EQ(::chmod((directory.path() / "w").string().c_str(), mode), 0);
    save(directory.path() / "w", "new");
    EXPECT_EQ(mode_of(directory.path() / "w"), mode);
  }
}

TEST(AtomicFile, GivesANewFileTheModeThatTheUmaskLeaves) {
  TempDirectory directory;
  {
    const Umask umask(0002);
    save(directory.path() / "a", "x");
  }
  {
    const Umask umask(0027);
    save(directory.path() / "b", "x");
  }
  EXPECT_EQ(mode_of(directory.path() / "a"), 0664u);
  EXPECT_EQ(mode_of(directory.path() / "b"), 0640u);
}

TEST(AtomicFile, WritesThroughASymbolicLinkAndKeepsIt) {
  TempDirectory directory;
  fs::create_directory(directory.path() / "real");
  save(directory.path() / "real/w", "old");
  fs::create_symlink("real/w", directory.path() / "middle");
  fs::create_symlink(directory.path() / "middle", directory.path() / "link");
  save(directory.path() / "link", "new");
  EXPECT_TRUE(fs::is_symlink(directory.path() / "link"));
  EXPECT_TRUE(fs::is_symlink(directory.path() / "middle"));
  EXPECT_EQ(read_whole(directory.path() / "real/w"), "new");
  EXPECT_EQ(names_in(directory.path() / "real").size(), 1u);
}

TEST(AtomicFile, CreatesTheFileThatADanglingLinkNames) {
  TempDirectory directory;
  fs::create_symlink("later", directory.path() / "link");
  save(directory.path() / "link", "new");
  EXPECT_EQ(read_whole(directory.path() / "later"), "new");
}

TEST(AtomicFile, RefusesALoopOfLinks) {
  TempDirectory directory;
  fs::create_symlink("b", directory.path() / "a");
  fs::create_symlink("a", directory.path() / "b");
  const auto error = error_of([&] { save(directory.path() / "a", "x"); });
  ASSERT_TRUE(error);
  EXPECT_NE(std::string(error->what()).find("(40); nothing was written"), std::string::npos) << error->what();
}

TEST(AtomicFile, RefusesAPathThatIsADirectory) {
  TempDirectory directory;
  fs::create_directory(directory.path() / "d");
  const std::string path = (directory.path() / "d").string();
  for (const std::string& given : {path, path + "/", path + "/.", path + "/.."}) {
    const auto error = error_of([&] { save(given, "x"); });
    ASSERT_TRUE(error) << given;
    EXPECT_EQ(error->status(), Status::io);
    EXPECT_EQ(error->what(), "weights file '" + given + "': is a directory, need the name of a file");
  }
  EXPECT_TRUE(names_in(directory.path() / "d").empty());
}

TEST(AtomicFile, RefusesAFifoAndADevice) {
  TempDirectory directory;
  ASSERT_EQ(::mkfifo((directory.path() / "pipe").string().c_str(), 0600), 0);
  for (const fs::path& path : {directory.path() / "pipe", fs::path("/dev/full")}) {
    const auto error = error_of([&] { save(path, "x"); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->what(), "weights file '" + path.string() + "': exists and is not a regular file");
  }
  EXPECT_EQ(names_in(directory.path()).size(), 1u);
}

TEST(AtomicFile, NamesADirectoryThatIsMissing) {
  TempDirectory directory;
  const auto error = error_of([&] { save(directory.path() / "no/w", "x"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->status(), Status::io);
  EXPECT_NE(std::string(error->what()).find(": cannot open directory '"), std::string::npos);
  EXPECT_NE(std::string(error->what()).find("No such file or directory (2); nothing was written"), std::string::npos);
}

TEST(AtomicFile, RefusesAnEmptyPath) {
  const auto error = error_of([&] { save("", "x"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->what(), std::string("weights file '': the path is empty, need the name of a file"));
}

TEST(AtomicFile, AcceptsTheLongestNameOfADirectoryEntry) {
  TempDirectory directory;
  save(directory.path() / std::string(255, 'n'), "x");
  EXPECT_EQ(names_in(directory.path()).size(), 1u);
  EXPECT_TRUE(error_of([&] { save(directory.path() / std::string(256, 'n'), "x"); }));
  EXPECT_EQ(names_in(directory.path()).size(), 1u);
}

TEST(AtomicFile, NamesADirectoryThatCannotBeWritten) {
  TempDirectory directory;
  const fs::path closed = directory.path() / "closed";
  fs::create_directory(closed);
  save(closed / "w", "old");
  fs::permissions(directory.path(), fs::perms(0755));
  fs::permissions(closed, fs::perms(0555));
  const bool is_root = ::geteuid() == 0;  // modes do not restrict root
  ASSERT_EQ(is_root ? ::seteuid(65534) : 0, 0);
  const auto error = error_of([&] { save(closed / "w", "new"); });
  ASSERT_EQ(is_root ? ::seteuid(0) : 0, 0);
  fs::permissions(closed, fs::perms(0755));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->status(), Status::io);
  EXPECT_EQ(error->what(), "weights file '" + (closed / "w").string() + "': cannot create a file in directory '" +
                               closed.string() + "': Permission denied (13); the previous file is unchanged");
  EXPECT_EQ(read_whole(closed / "w"), "old");
}

TEST(AtomicFile, EscapesWhatWouldBreakTheLineOfAMessage) {
  TempDirectory directory;
  const auto error = error_of([&] { save(directory.path() / "no\nsuch/\xff", "x"); });
  ASSERT_TRUE(error);
  EXPECT_NE(std::string(error->what()).find("no\\x0asuch/\\xff"), std::string::npos) << error->what();
}

}  // namespace
}  // namespace troika
