// Whole files, read at once, and written so that a crash leaves the old file or the new one; and a
// folder's lock.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace troika::cli {

// Returns the contents of a file; throws Failure naming the file.
std::string read_file(const std::filesystem::path& path);

// Replaces or creates the file (core/atomic_file.h). Throws Failure naming the file.
void write_file(const std::filesystem::path& path, std::string_view contents);

// Removes the temporary files that killed processes have left in the folder while they wrote one of
// `names`: `.NAME.tmp.PID.RANDOM`, or `.NAME.tmp.PID` from earlier versions of the tool.
void remove_stale_temporaries(const std::filesystem::path& folder, const std::vector<std::string>& names);

// Keeps other processes out of a folder: a lock on the file `.lock` in the folder, which ends with
// the process in any case. The file stays: removing it would race with the next process that locks
// it.
class FolderLock {
 public:
  FolderLock() = default;
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  bool is_taken() const { return file_ >= 0; }
  void take(const std::filesystem::path& folder);  // throws Failure if another process has it

 private:
  int file_ = -1;
};

}  // namespace troika::cli
