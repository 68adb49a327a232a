// A file that appears whole or not at all: it is written next to its place, made durable, then
// renamed into its place.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "core/file_system.h"

namespace troika {

// Until commit() returns, the path has its old contents; afterwards it has the new bytes, on disk.
// A process that ends in between leaves one of the two, and at worst a stray `.NAME.tmp.PID.RANDOM`
// next to it. Each object belongs to one thread.
//
//     AtomicFile file("weights file", "run/w.safetensors", bytes.size());
//     file.write(bytes.data(), bytes.size());
//     file.commit();
//
// Errors are IO and name `what` and the path.
class AtomicFile {
 public:
  // Creates the temporary file and reserves `size` bytes on disk, so that a full disk is found
  // here. The new file takes the mode bits of an existing file at `path`. A symbolic link is
  // followed and stays a link. The file system must outlive this object.
  AtomicFile(std::string_view what, const std::string& path, uint64_t size,
             const FileSystem& file_system = FileSystem::real());
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, uint64_t size);

  // Puts the file in its place; `size` bytes must have been written. Call once.
  void commit();

 private:
  void find_place(const std::string& path);
  void create();
  void discard() noexcept;
  [[noreturn]] void fail(std::string_view action, int error);
  [[noreturn]] void fail_in_directory(std::string_view action, int error);

  const FileSystem& file_system_;
  std::string label_;  // weights file 'run/w.safetensors'
  std::string directory_name_;
  std::string name_;            // within the directory
  std::string temporary_name_;  // empty: no temporary file exists
  bool has_previous_ = false;
  mode_t mode_ = 0666;  // without the bits of the process's umask
  uint64_t size_;
  uint64_t written_ = 0;
  int directory_ = -1;
  int file_ = -1;
};

// Writes `bytes` as the whole of `path`.
void write_file_atomically(std::string_view what, const std::string& path, std::string_view bytes,
                           const FileSystem& file_system = FileSystem::real());

}  // namespace troika
