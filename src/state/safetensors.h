// Safetensors files: a reader that trusts nothing and a writer whose bytes are the reference writer's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/file_system.h"
#include "state/safetensors_header.h"

namespace troika {

// The metadata key of the data's CRC-32 (zlib's), 8 digits of lower-case hex: what a flipped bit cannot get past.
constexpr const char* kSumKey = "crc32";

// An open file whose whole header has been checked. Reads with pread, so a file that changes underneath gives an error,
// never a signal. Reading from several threads is fine.
class SafetensorsReader {
 public:
  // Throws NOT_FOUND, IO or CORRUPT, naming `what` and the path. The file system must outlive this object.
  explicit SafetensorsReader(const std::string& path, std::string_view what = "weights file",
                             const FileSystem& file_system = FileSystem::real());
  ~SafetensorsReader();
  SafetensorsReader(const SafetensorsReader&) = delete;
  SafetensorsReader& operator=(const SafetensorsReader&) = delete;

  const SafetensorsHeader& header() const { return header_; }
  const std::vector<TensorEntry>& entries() const { return header_.entries; }  // in the order of their data
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }

  // The entry of that name, or nullptr. Borrowed: lives as long as this reader.
  const TensorEntry* find(std::string_view name) const;

  // Copies all bytes of one of this reader's entries, little-endian and row-major; `size` must be entry.bytes().
  void read(const TensorEntry& entry, void* destination, uint64_t size) const;

  // Reads all data once and throws CORRUPT where its sum is not the one in the metadata; a file that has none passes.
  void check_sum() const;

  // "weights file 'w.safetensors'", for messages about what it holds.
  const std::string& label() const { return label_; }

 private:
  void read_at(uint64_t offset, void* destination, uint64_t size) const;

  const FileSystem& file_system_;
  std::string label_;
  int file_ = -1;
  SafetensorsHeader header_;
  std::unordered_map<std::string_view, const TensorEntry*> by_name_;  // into header_
};

// Collects tensors, then writes them as one file.
class SafetensorsWriter {
 public:
  // Fills `size` bytes at `destination` with a tensor's data, such as by a copy from a device.
  using Fill = std::function<void(void* destination, uint64_t size)>;

  // Adds a tensor; `dtype` is the format's, such as "F32" or safetensors_dtype(DType::f32).
  // Throws INVALID_ARGUMENT for a name that is taken or not allowed, an unknown dtype, or a shape that has no size.
  // Data is borrowed until write() has returned; a fill is called by each write() into a buffer of its own size: once,
  // and with sum_data() twice for the same bytes.
  void add(std::string name, std::string_view dtype, Shape shape, const void* data);
  void add(std::string name, std::string_view dtype, Shape shape, Fill fill);

  // Sets one pair of strings, UTF-8. The last value of a key counts.
  void set_metadata(std::string key, std::string value);

  // Has write() put the sum of all data into the metadata, for SafetensorsReader::check_sum.
  void sum_data() { sums_data_ = true; }

  // Writes the file atomically: at `path` is what was there before, or the whole new file. Throws INVALID_ARGUMENT
  // where the header grows too large, IO, and what a fill throws; the previous file then is unchanged. Messages name
  // `what` and the path.
  void write(const std::string& path, std::string_view what = "weights file",
             const FileSystem& file_system = FileSystem::real()) const;

 private:
  struct Tensor {
    TensorEntry entry;  // offsets are set by write()
    const void* data;
    Fill fill;
  };
  void add(std::string name, std::string_view dtype, Shape shape, const void* data, Fill fill);

  std::map<std::string, Tensor, std::less<>> tensors_;
  std::map<std::string, std::string> metadata_;
  bool sums_data_ = false;
};

}  // namespace troika
