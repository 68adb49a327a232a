// The system calls on files, in one interface so that tests can make any of them fail.
#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace troika {

// Each call does what the POSIX call of its name does: -1 and errno on failure. Names are relative
// to `directory`, an open descriptor, or AT_FDCWD.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual int open(int directory, const char* name, int flags, mode_t mode) const;
  virtual ssize_t pread(int file, void* data, size_t size, uint64_t offset) const;
  virtual ssize_t write(int file, const void* data, size_t size) const;
  // posix_fallocate(0, size), with -1 and errno on failure. A size above RLIMIT_FSIZE is EFBIG,
  // without SIGXFSZ.
  virtual int allocate(int file, uint64_t size) const;
  virtual int chmod(int file, mode_t mode) const;
  virtual int fsync(int file) const;
  virtual int close(int file) const;
  virtual int rename(int directory, const char* from, const char* to) const;
  virtual int unlink(int directory, const char* name) const;

  static const FileSystem& real();
};

// Returns the text of an errno with its number: "No space left on device (28)".
std::string system_error_text(int error);

}  // namespace troika
