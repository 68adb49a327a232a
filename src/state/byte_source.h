// The bytes of a file, on disk or in host memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/file_system.h"

namespace troika {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Copies `size` bytes from `offset` on. Several threads may read. Throws IO, or CORRUPT if there
  // are fewer bytes.
  virtual void read(uint64_t offset, void* destination, uint64_t size) const = 0;
  // Returns the bytes from `offset` on: those of the source, or else a copy in `storage`.
  virtual std::string_view view(uint64_t offset, uint64_t size, std::string& storage) const;

  uint64_t size() const { return size_; }
  const std::string& label() const { return label_; }  // "weights file 'w.safetensors'", for messages

 protected:
  explicit ByteSource(std::string label) : label_(std::move(label)) {}
  uint64_t size_ = 0;

 private:
  std::string label_;
};

// A regular file. It is read with pread, so a file that changes meanwhile causes an error, never a
// signal.
class FileSource : public ByteSource {
 public:
  // Throws NOT_FOUND or IO, naming `what` and the path. The file system must outlive this object.
  FileSource(const std::string& path, std::string_view what, const FileSystem& file_system);
  ~FileSource() override;
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  void read(uint64_t offset, void* destination, uint64_t size) const override;

 private:
  void open(const std::string& path);

  const FileSystem& file_system_;
  int file_ = -1;
};

// Borrowed memory.
class MemorySource : public ByteSource {
 public:
  MemorySource(const void* data, uint64_t size, std::string label);
  void read(uint64_t offset, void* destination, uint64_t size) const override;
  std::string_view view(uint64_t offset, uint64_t size, std::string& storage) const override;

 private:
  const char* data_;
};

}  // namespace troika
