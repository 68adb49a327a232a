// Whole files: read at once, and written so that a crash leaves the old or the new one. And a folder's lock.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace troika::cli {

// The contents of a file; throws Failure naming it.
std::string read_file(const std::filesystem::path& path);

// Replaces the file, or creates it: see AtomicFile. Throws Failure naming it.
void write_file(const std::filesystem::path& path, std::string_view contents);

// Removes what processes that were killed while they wrote one of `names` have left in the folder:
// `.NAME.tmp.PID.RANDOM`, or `.NAME.tmp.PID` as earlier versions of the tool named it.
void remove_stale_temporaries(const std::filesystem::path& folder, const std::vector<std::string>& names);

// Keeps other processes out of a folder: a lock on the file `.lock` in it, which ends with the process, whatever ends
// it. The file stays, since removing it would race with the next one that takes it.
class FolderLock {
 public:
  FolderLock() = default;
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  bool is_taken() const { return file_ >= 0; }
  void take(const std::filesystem::path& folder);  // throws Failure where another process has it

 private:
  int file_ = -1;
};

}  // namespace troika::cli
