// Keeps other processes out of a folder.
#pragma once

#include <filesystem>

namespace troika::cli {

// A lock on the file `.lock` in the folder, which ends with the process in any case. The file
// stays: removing it would race with the next process that locks it.
class FolderLock {
 public:
  FolderLock() = default;
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  bool is_taken() const { return file_ >= 0; }
  void take(const std::filesystem::path& folder);  // throws Failure if another process has it

 private:
  [[noreturn]] static void refuse(const std::filesystem::path& folder);

  int file_ = -1;
};

}  // namespace troika::cli
