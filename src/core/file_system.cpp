// The real system calls.
#include "core/file_system.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "core/text.h"

namespace troika {

int FileSystem::open(int directory, const char* name, int flags, mode_t mode) const {
  return ::openat(directory, name, flags, mode);
}

ssize_t FileSystem::pread(int file, void* data, size_t size, uint64_t offset) const {
  return ::pread(file, data, size, static_cast<off_t>(offset));
}

ssize_t FileSystem::write(int file, const void* data, size_t size) const { return ::write(file, data, size); }

int FileSystem::allocate(int file, uint64_t size) const {
  // Above this limit the kernel would send SIGXFSZ, which ends a host that does not handle it.
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && size > limit.rlim_cur) {
    errno = EFBIG;
    return -1;
  }
  const int error = ::posix_fallocate(file, 0, static_cast<off_t>(size));
  if (error == 0) return 0;
  errno = error;
  return -1;
}

int FileSystem::chmod(int file, mode_t mode) const { return ::fchmod(file, mode); }
int FileSystem::fsync(int file) const { return ::fsync(file); }
int FileSystem::close(int file) const { return ::close(file); }

int FileSystem::rename(int directory, const char* from, const char* to) const {
  return ::renameat(directory, from, directory, to);
}

int FileSystem::unlink(int directory, const char* name) const { return ::unlinkat(directory, name, 0); }

const FileSystem& FileSystem::real() {
  static const FileSystem file_system;
  return file_system;
}

std::string system_error_text(int error) {
  return text(std::error_code(error, std::generic_category()).message(), " (", error, ")");
}

}  // namespace troika
