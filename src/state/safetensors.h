// Safetensors files: a reader that trusts nothing and a writer whose bytes are the reference
// writer's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/file_system.h"
#include "state/byte_source.h"
#include "state/safetensors_header.h"

namespace troika {

// The metadata keys of CRC-32 sums (zlib's), as 8 digits of lower-case hex: of the data, and of the
// header without its own sum. They find any flipped bit that means something.
constexpr const char* kSumKey = "crc32";
constexpr const char* kHeaderSumKey = "header_crc32";

// Safetensors whose whole header has been checked, with its sum if it has one. Several threads may
// read.
class SafetensorsReader {
 public:
  // Throws NOT_FOUND, IO or CORRUPT, naming `what` and the path. The file system must outlive this
  // object.
  explicit SafetensorsReader(const std::string& path, std::string_view what = "weights file",
                             const FileSystem& file_system = FileSystem::real());
  // Throws IO or CORRUPT.
  explicit SafetensorsReader(std::unique_ptr<const ByteSource> source);
  SafetensorsReader(const SafetensorsReader&) = delete;
  SafetensorsReader& operator=(const SafetensorsReader&) = delete;

  const SafetensorsHeader& header() const { return header_; }
  const std::vector<TensorEntry>& entries() const { return header_.entries; }  // in the order of their data
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }

  // Returns the entry of that name, or nullptr. Borrowed: it lives as long as this reader.
  const TensorEntry* find(std::string_view name) const;

  // Copies all bytes of one of this reader's entries, little-endian and row-major; `size` must be
  // entry.bytes().
  void read(const TensorEntry& entry, void* destination, uint64_t size) const;

  // Reads all data once, and throws CORRUPT if their sum differs from the sum in the metadata. A
  // file without a sum passes.
  void check_sum() const;
  // The same by several readers of one file: each sums a part, and all check the sums of all parts.
  uint32_t sum_part(int64_t parts, int64_t part) const;
  void check_sums(const std::vector<uint32_t>& sums) const;

  // Returns "weights file 'w.safetensors'", for messages.
  const std::string& label() const { return source_->label(); }

 private:
  int64_t data_bytes() const;

  std::unique_ptr<const ByteSource> source_;
  SafetensorsHeader header_;
  std::unordered_map<std::string_view, const TensorEntry*> by_name_;  // into header_
};

// Collects tensors, then writes them as one file, or as the bytes of one file to memory.
class SafetensorsWriter {
 public:
  // Fills `size` bytes at `destination` with a tensor's data, such as by a copy from a device.
  using Fill = std::function<void(void* destination, uint64_t size)>;

  // Adds a tensor; `dtype` is the format's, such as "F32" or safetensors_dtype(DType::f32). Throws
  // INVALID_ARGUMENT if the name is taken or not allowed, the dtype is unknown, or the shape has no
  // size. Data are borrowed until write() has returned. Each write() calls a fill with a buffer of
  // its own size: once, or, with sum_data(), twice for the same bytes.
  void add(std::string name, std::string_view dtype, Shape shape, const void* data);
  void add(std::string name, std::string_view dtype, Shape shape, Fill fill);

  // Sets one pair of strings, UTF-8. The last value of a key counts.
  void set_metadata(std::string key, std::string value);

  // Makes write() put the sums of all data and of the header into the metadata.
  void sum_data() { sums_data_ = true; }

  // Writes the file atomically: at `path` is the previous file, or the whole new file. Throws
  // INVALID_ARGUMENT if the header is too large, IO, and the errors of a fill; then the previous
  // file is unchanged. Messages name `what` and the path.
  void write(const std::string& path, std::string_view what = "weights file",
             const FileSystem& file_system = FileSystem::real()) const;

  // Returns the bytes of the file, without a look at the data, and writes as many to `buffer`.
  // Throws INVALID_ARGUMENT as write() does; messages begin with `label`.
  uint64_t size(const std::string& label) const;
  void write_memory(void* buffer, const std::string& label) const;

 private:
  struct Tensor {
    TensorEntry entry;  // offsets are set by write()
    const void* data;
    Fill fill;
  };
  // The file's first bytes, up to the data.
  struct Layout {
    std::string head;
    uint64_t data_bytes;
  };
  void add(std::string name, std::string_view dtype, Shape shape, const void* data, Fill fill);
  std::vector<const Tensor*> order() const;
  // Returns a tensor's bytes, as they are stored or as a fill writes them to `filled`.
  static const void* data_of(const Tensor& tensor, std::vector<char>& filled);
  std::string sum() const;
  Layout lay_out(const std::string& label, const std::string& sum) const;

  std::map<std::string, Tensor, std::less<>> tensors_;
  std::map<std::string, std::string> metadata_;
  bool sums_data_ = false;
};

}  // namespace troika
