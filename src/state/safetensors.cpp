// Reads and writes safetensors files over FileSystem and AtomicFile.
#include "state/safetensors.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include "core/atomic_file.h"
#include "core/text.h"
#include "core/utf8.h"

namespace troika {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors data is little-endian, and is copied as it is");

constexpr uint64_t kLargestRead = uint64_t{1} << 30;  // Linux moves at most 2 GiB per call
constexpr uint64_t kSumChunkBytes = uint64_t{1} << 20;

std::string print_sum(uLong sum) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string digits(8, '0');
  for (size_t i = 0; i < digits.size(); ++i) digits[i] = kDigits[sum >> (28 - 4 * i) & 0xF];
  return digits;
}

// Closes a descriptor unless it has been released.
class OpenFile {
 public:
  OpenFile(const FileSystem& file_system, int file) : file_system_(file_system), file_(file) {}
  ~OpenFile() {
    if (file_ >= 0) (void)file_system_.close(file_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int release() { return std::exchange(file_, -1); }

 private:
  const FileSystem& file_system_;
  int file_;
};

}  // namespace

SafetensorsReader::SafetensorsReader(const std::string& path, std::string_view what, const FileSystem& file_system)
    : file_system_(file_system), label_(text(what, " '", printable(path), "'")) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  do {
    file_ = file_system_.open(AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
  } while (file_ < 0 && errno == EINTR);
  if (file_ < 0) {
    const bool is_missing = errno == ENOENT || errno == ENOTDIR;
    throw Error(is_missing ? Status::not_found : Status::io, text(label_, ": cannot open: ", system_error_text(errno)));
  }
  OpenFile opened(file_system_, file_);

  struct stat status {};
  if (::fstat(file_, &status) != 0)
    throw Error(Status::io, text(label_, ": cannot ask for its size: ", system_error_text(errno)));
  if (!S_ISREG(status.st_mode))
    throw Error(Status::io, text(label_, S_ISDIR(status.st_mode) ? ": is a directory" : ": is not a regular file",
                                 ", need a safetensors file"));

  const auto file_bytes = static_cast<uint64_t>(status.st_size);
  std::string bytes(static_cast<size_t>(std::min<uint64_t>(8, file_bytes)), '\0');
  read_at(0, bytes.data(), bytes.size());
  bytes.resize(
      static_cast<size_t>(8 + safetensors_header_bytes(bytes, file_bytes, label_)));  // at most the file's size
  read_at(8, bytes.data() + 8, bytes.size() - 8);
  header_ = parse_safetensors_header(bytes, file_bytes, label_);
  by_name_.reserve(header_.entries.size());
  for (const TensorEntry& entry : header_.entries) by_name_.emplace(entry.name, &entry);
  opened.release();
}

SafetensorsReader::~SafetensorsReader() { (void)file_system_.close(file_); }

const TensorEntry* SafetensorsReader::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

void SafetensorsReader::read(const TensorEntry& entry, void* destination, uint64_t size) const {
  const TensorEntry* known = find(entry.name);
  if (!known || known->begin != entry.begin || known->end != entry.end)
    throw Error(Status::internal, text(label_, ": tensor '", printable_name(entry.name), "' is not of this reader"));
  if (size != entry.bytes())
    throw Error(Status::invalid_argument, text(label_, ": tensor '", printable_name(entry.name), "': buffer is ", size,
                                               " bytes, the data is ", entry.bytes()));
  read_at(header_.data_offset + entry.begin, destination, size);
}

void SafetensorsReader::check_sum() const {
  const auto wanted = header_.metadata.find(kSumKey);
  if (wanted == header_.metadata.end()) return;
  const uint64_t data_bytes = header_.entries.empty() ? 0 : header_.entries.back().end;
  std::vector<unsigned char> chunk(static_cast<size_t>(std::min(data_bytes, kSumChunkBytes)));
  uLong sum = ::crc32(0, nullptr, 0);
  for (uint64_t done = 0; done < data_bytes;) {
    const uint64_t size = std::min(data_bytes - done, kSumChunkBytes);
    read_at(header_.data_offset + done, chunk.data(), size);
    sum = ::crc32_z(sum, chunk.data(), static_cast<size_t>(size));
    done += size;
  }
  if (print_sum(sum) != wanted->second)
    throw Error(Status::corrupt,
                text(label_, ": its data has the CRC-32 ", print_sum(sum), ", metadata '", kSumKey, "' is '",
                     printable_name(wanted->second), "'; the file is damaged, or was changed and kept the metadata"));
}

void SafetensorsReader::read_at(uint64_t offset, void* destination, uint64_t size) const {
  char* next = static_cast<char*>(destination);
  while (size > 0) {
    const ssize_t done = file_system_.pread(file_, next, static_cast<size_t>(std::min(size, kLargestRead)), offset);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw Error(Status::io, text(label_, ": cannot read: ", system_error_text(errno)));
    if (done == 0)
      throw Error(Status::corrupt, text(label_, ": ends at byte ", offset, "; it became shorter while it was read"));
    next += done;
    offset += static_cast<uint64_t>(done);
    size -= static_cast<uint64_t>(done);
  }
}

void SafetensorsWriter::add(std::string name, std::string_view dtype, Shape shape, const void* data) {
  add(std::move(name), dtype, std::move(shape), data, nullptr);
}

void SafetensorsWriter::add(std::string name, std::string_view dtype, Shape shape, Fill fill) {
  add(std::move(name), dtype, std::move(shape), nullptr, std::move(fill));
}

void SafetensorsWriter::add(std::string name, std::string_view dtype, Shape shape, const void* data, Fill fill) {
  const std::string file = "safetensors writer";
  check_tensor_name(name, Status::invalid_argument, file);
  const std::string label = text(file, ": tensor '", printable_name(name), "'");
  Tensor tensor{{name, std::string(dtype), shape, 0, 0}, data, std::move(fill)};
  tensor.entry.end = safetensors_bytes(dtype, shape, Status::invalid_argument, label);
  if (tensor.entry.end > kMaxOffset) throw Error(Status::invalid_argument, text(label, ": is above 2^48 - 1 bytes"));
  if (!data && !tensor.fill && tensor.entry.end > 0)
    throw Error(Status::invalid_argument, text(label, ": data is NULL"));
  if (tensors_.size() == kMaxTensors)
    throw Error(Status::invalid_argument, text(label, ": is one more than the largest number, ", kMaxTensors));
  if (!tensors_.emplace(std::move(name), std::move(tensor)).second)
    throw Error(Status::invalid_argument, text(label, ": is added twice"));
}

void SafetensorsWriter::set_metadata(std::string key, std::string value) {
  if (find_invalid_utf8(key) != std::string_view::npos || find_invalid_utf8(value) != std::string_view::npos)
    throw Error(Status::invalid_argument,
                text("safetensors writer: metadata '", printable_name(key), "': key or value is not UTF-8"));
  metadata_.insert_or_assign(std::move(key), std::move(value));
}

void SafetensorsWriter::write(const std::string& path, std::string_view what, const FileSystem& file_system) const {
  const std::string label = text(what, " '", printable(path), "'");
  std::vector<const Tensor*> order;  // strictest alignment first, then by name, which the map has sorted already
  for (const auto& [name, tensor] : tensors_) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(), [](const Tensor* a, const Tensor* b) {
    return safetensors_dtype_order(a->entry.dtype) > safetensors_dtype_order(b->entry.dtype);
  });

  // A tensor's bytes, as they are stored or as a fill writes them. Borrowed until the next call.
  std::vector<char> filled;
  auto data_of = [&filled](const Tensor& tensor) -> const void* {
    if (!tensor.fill) return tensor.data;
    filled.resize(static_cast<size_t>(tensor.entry.bytes()));
    tensor.fill(filled.data(), filled.size());
    return filled.data();
  };

  SafetensorsHeader header;
  header.metadata = metadata_;
  if (sums_data_) {
    uLong sum = ::crc32(0, nullptr, 0);
    for (const Tensor* tensor : order)
      // for NULL the function returns a fresh sum
      if (const auto size = static_cast<size_t>(tensor->entry.bytes()); size > 0)
        sum = ::crc32_z(sum, static_cast<const unsigned char*>(data_of(*tensor)), size);
    header.metadata[kSumKey] = print_sum(sum);
  }
  uint64_t data_bytes = 0;
  for (const Tensor* tensor : order) {
    TensorEntry entry = tensor->entry;
    entry.begin = data_bytes;
    data_bytes += entry.end;
    entry.end = data_bytes;
    if (data_bytes > kMaxOffset)
      throw Error(Status::invalid_argument, text(label, ": its tensors need more than 2^48 - 1 bytes"));
    header.entries.push_back(std::move(entry));
  }
  const std::string head = print_safetensors_header(header);
  if (head.size() - 8 > kMaxHeaderBytes)
    throw Error(Status::invalid_argument, text(label, ": header would be ", head.size() - 8, " bytes, the largest is ",
                                               kMaxHeaderBytes, "; shorten names or metadata"));

  AtomicFile file(what, path, head.size() + data_bytes, file_system);
  file.write(head.data(), head.size());
  for (const Tensor* tensor : order) file.write(data_of(*tensor), tensor->entry.bytes());
  file.commit();
}

}  // namespace troika
