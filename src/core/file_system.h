// The system calls on files, in one interface so that tests can make any of them fail.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace troika {

// How a descriptor is opened. Programs that this process starts never inherit it.
enum class Opening {
  directory,
  existing,  // for reading; a pipe does not wait for its writer
  created,   // for writing; EEXIST if there is a file
};

// Each call does what the POSIX call of its name does: -1 and errno on failure. Names are UTF-8 on
// Windows. They are relative to `directory`: an open descriptor, or that of the current directory.
class FileSystem {
 public:
  static const int kCurrentDirectory;

  virtual ~FileSystem() = default;

  // `mode`: of a created file.
  virtual int open(int directory, const char* name, Opening opening, mode_t mode) const;
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

struct FileStatus {
  bool is_regular = false, is_directory = false;
  uint64_t size = 0;  // bytes
};

// Describes an open file. -1 and errno on failure.
int status_of(int file, FileStatus& status);

// Returns the names in a folder, in no order. -1 and errno on failure.
int list_folder(const std::string& folder, std::vector<std::string>& names);

// Opens a file for reading as a stream of bytes. Null and errno on failure.
std::FILE* open_stream(const std::string& path);

// Returns the text of an errno with its number: "No space left on device (28)".
std::string system_error_text(int error);

}  // namespace troika
