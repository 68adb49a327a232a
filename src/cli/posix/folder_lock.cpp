// A lock by flock.
#include "cli/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/client.h"

namespace troika::cli {

FolderLock::~FolderLock() {
  if (is_taken()) ::close(file_);
}

void FolderLock::take(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / ".lock";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) throw Failure("cannot write '" + path.string() + "': " + std::strerror(errno));
  if (::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {  // without locks, go on without one
    ::close(file);
    refuse(folder);
  }
  file_ = file;
}

}  // namespace troika::cli
