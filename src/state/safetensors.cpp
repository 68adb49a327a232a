// Reads safetensors from a ByteSource, and writes them by AtomicFile or to memory.
#include "state/safetensors.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "core/atomic_file.h"
#include "core/split.h"
#include "core/text.h"
#include "core/utf8.h"

namespace troika {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors data is little-endian, and is copied as it is");

constexpr uint64_t kSumChunkBytes = uint64_t{1} << 20;

std::string print_sum(uLong sum) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string digits(8, '0');
  for (size_t i = 0; i < digits.size(); ++i) digits[i] = kDigits[sum >> (28 - 4 * i) & 0xF];
  return digits;
}

// Sums texts and numbers one after another.
class Sum {
 public:
  void add(std::string_view text) {
    add(text.size());
    if (!text.empty()) sum_ = ::crc32_z(sum_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  void add(uint64_t number) { sum_ = ::crc32_z(sum_, reinterpret_cast<const unsigned char*>(&number), sizeof number); }
  std::string print() const { return print_sum(sum_); }

 private:
  uLong sum_ = ::crc32(0, nullptr, 0);
};

// Returns the sum of what the header says, however the JSON is written.
std::string header_sum(const SafetensorsHeader& header) {
  Sum sum;
  for (const auto& [key, value] : header.metadata) {
    if (key == kHeaderSumKey) continue;
    sum.add(key);
    sum.add(value);
  }
  for (const TensorEntry& entry : header.entries) {
    sum.add(entry.name);
    sum.add(entry.dtype);
    sum.add(static_cast<uint64_t>(entry.shape.rank()));
    for (int64_t size : entry.shape.dims()) sum.add(static_cast<uint64_t>(size));
    sum.add(entry.end);
  }
  return sum.print();
}

void check_header_sum(const SafetensorsHeader& header, const std::string& label) {
  const auto wanted = header.metadata.find(kHeaderSumKey);
  if (wanted == header.metadata.end()) return;
  if (const std::string sum = header_sum(header); sum != wanted->second)
    throw Error(Status::corrupt,
                text(label, ": its header has the CRC-32 ", sum, ", metadata '", kHeaderSumKey, "' is '",
                     printable_name(wanted->second), "'; the file is damaged, or was changed and kept the metadata"));
}

}  // namespace

SafetensorsReader::SafetensorsReader(const std::string& path, std::string_view what, const FileSystem& file_system)
    : SafetensorsReader(std::make_unique<FileSource>(path, what, file_system)) {}

SafetensorsReader::SafetensorsReader(std::unique_ptr<const ByteSource> source) : source_(std::move(source)) {
  std::string storage;
  const uint64_t size = source_->size();
  const std::string_view begin = source_->view(0, std::min<uint64_t>(8, size), storage);
  const uint64_t header_bytes = safetensors_header_bytes(begin, size, label());  // at most the file's size
  header_ = parse_safetensors_header(source_->view(0, 8 + header_bytes, storage), size, label());
  check_header_sum(header_, label());
  by_name_.reserve(header_.entries.size());
  for (const TensorEntry& entry : header_.entries) by_name_.emplace(entry.name, &entry);
}

const TensorEntry* SafetensorsReader::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

void SafetensorsReader::read(const TensorEntry& entry, void* destination, uint64_t size) const {
  const TensorEntry* known = find(entry.name);
  if (!known || known->begin != entry.begin || known->end != entry.end)
    throw Error(Status::internal, text(label(), ": tensor '", printable_name(entry.name), "' is not of this reader"));
  if (size != entry.bytes())
    throw Error(Status::invalid_argument, text(label(), ": tensor '", printable_name(entry.name), "': buffer is ", size,
                                               " bytes, the data is ", entry.bytes()));
  source_->read(header_.data_offset + entry.begin, destination, size);
}

int64_t SafetensorsReader::data_bytes() const {
  return header_.entries.empty() ? 0 : static_cast<int64_t>(header_.entries.back().end);
}

void SafetensorsReader::check_sum() const { check_sums({sum_part(1, 0)}); }

uint32_t SafetensorsReader::sum_part(int64_t parts, int64_t part) const {
  uLong sum = ::crc32(0, nullptr, 0);
  if (!header_.metadata.contains(kSumKey)) return static_cast<uint32_t>(sum);
  const Range range = balanced_split(data_bytes(), parts, part);
  std::string storage;
  for (uint64_t at = static_cast<uint64_t>(range.begin), end = static_cast<uint64_t>(range.end); at < end;) {
    const uint64_t size = std::min(end - at, kSumChunkBytes);
    const std::string_view chunk = source_->view(header_.data_offset + at, size, storage);
    sum = ::crc32_z(sum, reinterpret_cast<const unsigned char*>(chunk.data()), chunk.size());
    at += size;
  }
  return static_cast<uint32_t>(sum);
}

void SafetensorsReader::check_sums(const std::vector<uint32_t>& sums) const {
  const auto wanted = header_.metadata.find(kSumKey);
  if (wanted == header_.metadata.end()) return;
  const auto parts = static_cast<int64_t>(sums.size());
  uLong sum = ::crc32(0, nullptr, 0);
  for (int64_t part = 0; part < parts; ++part)
    sum = ::crc32_combine(sum, sums[static_cast<size_t>(part)], balanced_split(data_bytes(), parts, part).size());
  if (print_sum(sum) != wanted->second)
    throw Error(Status::corrupt,
                text(label(), ": its data has the CRC-32 ", print_sum(sum), ", metadata '", kSumKey, "' is '",
                     printable_name(wanted->second), "'; the file is damaged, or was changed and kept the metadata"));
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

std::vector<const SafetensorsWriter::Tensor*> SafetensorsWriter::order() const {
  std::vector<const Tensor*> order;  // strictest alignment first, then by name, which the map has sorted already
  for (const auto& [name, tensor] : tensors_) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(), [](const Tensor* a, const Tensor* b) {
    return safetensors_dtype_order(a->entry.dtype) > safetensors_dtype_order(b->entry.dtype);
  });
  return order;
}

const void* SafetensorsWriter::data_of(const Tensor& tensor, std::vector<char>& filled) {
  if (!tensor.fill) return tensor.data;
  filled.resize(static_cast<size_t>(tensor.entry.bytes()));
  tensor.fill(filled.data(), filled.size());
  return filled.data();
}

std::string SafetensorsWriter::sum() const {
  std::vector<char> filled;
  uLong sum = ::crc32(0, nullptr, 0);
  for (const Tensor* tensor : order())
    // for NULL the function returns a fresh sum
    if (const auto size = static_cast<size_t>(tensor->entry.bytes()); size > 0)
      sum = ::crc32_z(sum, static_cast<const unsigned char*>(data_of(*tensor, filled)), size);
  return print_sum(sum);
}

SafetensorsWriter::Layout SafetensorsWriter::lay_out(const std::string& label, const std::string& sum) const {
  SafetensorsHeader header;
  header.metadata = metadata_;
  if (sums_data_) header.metadata[kSumKey] = sum;
  uint64_t data_bytes = 0;
  for (const Tensor* tensor : order()) {
    TensorEntry entry = tensor->entry;
    entry.begin = data_bytes;
    data_bytes += entry.end;
    entry.end = data_bytes;
    if (data_bytes > kMaxOffset)
      throw Error(Status::invalid_argument, text(label, ": its tensors need more than 2^48 - 1 bytes"));
    header.entries.push_back(std::move(entry));
  }
  if (sums_data_) header.metadata[kHeaderSumKey] = header_sum(header);
  std::string head = print_safetensors_header(header);
  if (head.size() - 8 > kMaxHeaderBytes)
    throw Error(Status::invalid_argument, text(label, ": header would be ", head.size() - 8, " bytes, the largest is ",
                                               kMaxHeaderBytes, "; shorten names or metadata"));
  return {std::move(head), data_bytes};
}

uint64_t SafetensorsWriter::size(const std::string& label) const {
  const Layout layout = lay_out(label, print_sum(0));  // every sum has as many digits
  return layout.head.size() + layout.data_bytes;
}

void SafetensorsWriter::write(const std::string& path, std::string_view what, const FileSystem& file_system) const {
  const Layout layout = lay_out(text(what, " '", printable(path), "'"), sums_data_ ? sum() : "");
  AtomicFile file(what, path, layout.head.size() + layout.data_bytes, file_system);
  file.write(layout.head.data(), layout.head.size());
  std::vector<char> filled;
  for (const Tensor* tensor : order()) file.write(data_of(*tensor, filled), tensor->entry.bytes());
  file.commit();
}

void SafetensorsWriter::write_memory(void* buffer, const std::string& label) const {
  const Layout layout = lay_out(label, sums_data_ ? sum() : "");
  char* next = static_cast<char*>(buffer);
  const auto append = [&next](const void* data, uint64_t size) {
    if (size > 0) std::memcpy(next, data, static_cast<size_t>(size));
    next += size;
  };
  append(layout.head.data(), layout.head.size());
  std::vector<char> filled;
  for (const Tensor* tensor : order()) append(data_of(*tensor, filled), tensor->entry.bytes());
}

}  // namespace troika
