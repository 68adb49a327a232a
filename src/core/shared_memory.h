// Memory that other processes of the machine can map: a file without a name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace troika {

// The place of a block of shared memory, for another process. The process that made the block
// passes the place on.
struct SharedPlace {
  int64_t process = 0;  // the system's number of the process that has the block
  int64_t file = -1;    // the block's file there
  int64_t block = 0;    // the file's number in the system, which no other file has
  int64_t offset = 0;   // of a byte within the block
  int64_t bytes = 0;    // of the block

  std::string encode() const;
  static SharedPlace decode(const std::string& message);  // COMM
};

// A block, zeroed. Only memory that is touched takes memory. It is not mapped in a forked child.
class SharedMemory {
 public:
  // Returns null if the memory cannot be had.
  static std::unique_ptr<SharedMemory> try_create(size_t bytes);
  // OUT_OF_MEMORY with the system's reason. UNSUPPORTED on another system.
  explicit SharedMemory(size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::byte* data() const { return data_; }
  SharedPlace place() const;
  // Returns the place of a byte that one of this process's blocks has. Any thread.
  static std::optional<SharedPlace> find(const void* address);

 private:
  const size_t bytes_;
  int file_ = -1;
  int64_t block_ = -1;
  std::byte* data_ = nullptr;
};

// Another process's block, mapped into this process.
class ForeignMemory {
 public:
  // COMM with the system's reason, if the system forbids it, or if the process is not there or has
  // another file of this number.
  explicit ForeignMemory(const SharedPlace& place);
  ~ForeignMemory();
  ForeignMemory(const ForeignMemory&) = delete;
  ForeignMemory& operator=(const ForeignMemory&) = delete;

  std::byte* data() const { return data_; }

 private:
  const size_t bytes_;
  std::byte* data_ = nullptr;
};

}  // namespace troika
