// The real system calls.
#include "core/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include "core/destroy.h"
#include "core/text.h"

namespace troika {
namespace {

int flags_of(Opening opening) {
  switch (opening) {
    case Opening::directory: return O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    case Opening::existing: return O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    case Opening::created: return O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  }
  return 0;
}

}  // namespace

const int FileSystem::kCurrentDirectory = AT_FDCWD;

int FileSystem::open(int directory, const char* name, Opening opening, mode_t mode) const {
  return ::openat(directory, name, flags_of(opening), mode);
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

int status_of(int file, FileStatus& status) {
  struct stat found {};
  if (::fstat(file, &found) != 0) return -1;
  status = {S_ISREG(found.st_mode), S_ISDIR(found.st_mode), static_cast<uint64_t>(found.st_size)};
  return 0;
}

// The standard library's iterator would end the process if memory ran out.
int list_folder(const std::string& folder, std::vector<std::string>& names) {
  const std::unique_ptr<DIR, Destroy<closedir>> entries(opendir(folder.c_str()));
  if (!entries) return -1;
  while (true) {
    errno = 0;
    const dirent* const entry = readdir(entries.get());
    if (!entry) return errno == 0 ? 0 : -1;
    names.emplace_back(entry->d_name);
  }
}

std::FILE* open_stream(const std::string& path) { return std::fopen(path.c_str(), "rbe"); }

std::string system_error_text(int error) {
  return text(std::error_code(error, std::generic_category()).message(), " (", error, ")");
}

}  // namespace troika
