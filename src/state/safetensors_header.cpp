// Element types, sizes and names of safetensors, the checks over a whole header, and its printing.
#include "state/safetensors_header.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "core/text.h"
#include "core/utf8.h"
#include "state/safetensors_json.h"

namespace troika {
namespace {

struct FormatDType {
  std::string_view name;
  int bits;
};

// In the reference's order of increasing alignment, by which the writer sorts.
constexpr std::array<FormatDType, 22> kDTypes{{
    {"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"U8", 8},          {"I8", 8},
    {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},
    {"U16", 16},    {"F16", 16},    {"BF16", 16},   {"I32", 32},        {"U32", 32},        {"F32", 32},
    {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64},
}};

constexpr std::array<std::pair<DType, std::string_view>, 5> kOurs{{
    {DType::f32, "F32"},
    {DType::f64, "F64"},
    {DType::i32, "I32"},
    {DType::i64, "I64"},
    {DType::u8, "U8"},
}};

std::string tensor_label(const std::string& label, std::string_view name) {
  return text(label, ": tensor '", printable_name(name), "'");
}

std::string short_text(const Shape& shape) {
  const std::string all = to_string(shape);
  return all.size() <= 200 ? all : text(std::string_view(all).substr(0, 200), "...]");
}

// Sorted by offset, the data of all tensors must cover the rest of the file exactly: without a gap,
// an overlap or a remainder.
void check_entries(SafetensorsHeader& header, uint64_t data_bytes, const std::string& label) {
  std::sort(header.entries.begin(), header.entries.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  uint64_t previous_end = 0;
  for (const TensorEntry& entry : header.entries) {
    const std::string tensor = tensor_label(label, entry.name);
    if (entry.end < entry.begin)
      throw Error(Status::corrupt, text(tensor, ": data ends at ", entry.end, ", before its begin at ", entry.begin));
    if (entry.begin != previous_end)
      throw Error(Status::corrupt, text(tensor, ": data begins at ", entry.begin, ", need ", previous_end,
                                        ", the end of the data before it"));
    const uint64_t needed = safetensors_bytes(entry.dtype, entry.shape, Status::corrupt, tensor);
    if (entry.bytes() != needed)
      throw Error(Status::corrupt, text(tensor, ": data is ", entry.bytes(), " bytes, shape ", short_text(entry.shape),
                                        " of ", entry.dtype, " needs ", needed));
    previous_end = entry.end;
  }
  if (previous_end != data_bytes)
    throw Error(Status::corrupt,
                text(label, ": holds ", data_bytes, " bytes of data, its tensors need ", previous_end,
                     data_bytes < previous_end ? "; the file is cut short" : "; the file has bytes of no tensor"));
}

void append_u64(std::string& out, uint64_t value) {
  for (int byte = 0; byte < 8; ++byte) out += static_cast<char>(value >> (8 * byte) & 0xFF);
}

}  // namespace

int safetensors_dtype_order(std::string_view dtype) {
  for (size_t i = 0; i < kDTypes.size(); ++i)
    if (kDTypes[i].name == dtype) return static_cast<int>(i);
  return -1;
}

int safetensors_bits(std::string_view dtype) {
  const int order = safetensors_dtype_order(dtype);
  return order < 0 ? 0 : kDTypes[static_cast<size_t>(order)].bits;
}

std::optional<DType> dtype_from_safetensors(std::string_view dtype) {
  for (const auto& [ours, name] : kOurs)
    if (name == dtype) return ours;
  return std::nullopt;
}

std::string_view safetensors_dtype(DType dtype) {
  for (const auto& [ours, name] : kOurs)
    if (ours == dtype) return name;
  throw Error(Status::internal, text("safetensors: dtype ", static_cast<int>(dtype), " has no name in the format"));
}

uint64_t safetensors_bytes(std::string_view dtype, const Shape& shape, Status status, const std::string& label) {
  // The dimensions before a 0 count too, so that Shape::elements() never overflows.
  constexpr uint64_t kMaxElements = uint64_t{1} << 57;  // 64 bits each fit uint64_t
  const int bits = safetensors_bits(dtype);
  if (bits == 0)
    throw Error(status, text(label, ": dtype '", printable_name(dtype), "' is none of the safetensors format"));
  if (shape.rank() > kMaxFileRank)
    throw Error(status, text(label, ": has ", shape.rank(), " dimensions, the largest is ", kMaxFileRank));
  uint64_t elements = 1;
  for (int64_t dim : shape.dims()) {
    if (dim < 0) throw Error(status, text(label, ": shape ", short_text(shape), " has a dimension below 0"));
    if (dim != 0 && elements > kMaxElements / static_cast<uint64_t>(dim))
      throw Error(status, text(label, ": shape ", short_text(shape), " has too many elements"));
    elements *= static_cast<uint64_t>(dim);
  }
  const uint64_t all_bits = elements * static_cast<uint64_t>(bits);
  if (all_bits % 8 != 0)
    throw Error(status, text(label, ": shape ", short_text(shape), " of ", dtype, " is ", all_bits,
                             " bits, need a multiple of 8"));
  return all_bits / 8;
}

void check_tensor_name(std::string_view name, Status status, const std::string& label) {
  if (name.empty()) throw Error(status, text(label, ": a tensor has an empty name"));
  if (name == "__metadata__")
    throw Error(status, text(label, ": tensor '__metadata__': the format keeps this name for metadata"));
  if (name.size() > kMaxTensorNameBytes)
    throw Error(status, text(tensor_label(label, name), ": name is ", name.size(), " bytes, the largest is ",
                             kMaxTensorNameBytes));
  if (name.find('\0') != std::string_view::npos)
    throw Error(status, text(tensor_label(label, name), ": name holds a NUL"));
  if (find_invalid_utf8(name) != std::string_view::npos)
    throw Error(status, text(tensor_label(label, name), ": name is not UTF-8"));
}

uint64_t safetensors_header_bytes(std::string_view bytes, uint64_t file_bytes, const std::string& label) {
  if (file_bytes < 8 || bytes.size() < 8)
    throw Error(Status::corrupt, text(label, ": is ", file_bytes, " bytes, a safetensors file has at least 8"));
  uint64_t size = 0;
  for (int byte = 7; byte >= 0; --byte) size = size << 8 | static_cast<unsigned char>(bytes[static_cast<size_t>(byte)]);
  if (size > kMaxHeaderBytes)
    throw Error(Status::corrupt, text(label, ": header says it is ", size, " bytes, the largest is ", kMaxHeaderBytes,
                                      "; is this a safetensors file?"));
  if (size > file_bytes - 8)
    throw Error(Status::corrupt, text(label, ": header says it is ", size, " bytes, the file holds ", file_bytes - 8,
                                      " after the first 8"));
  return size;
}

SafetensorsHeader parse_safetensors_header(std::string_view bytes, uint64_t file_bytes, const std::string& label) {
  const uint64_t size = safetensors_header_bytes(bytes, file_bytes, label);
  if (bytes.size() - 8 < size)
    throw Error(Status::corrupt, text(label, ": header is ", size, " bytes, only ", bytes.size() - 8, " were read"));
  const std::string_view json = bytes.substr(8, static_cast<size_t>(size));
  if (const size_t at = find_invalid_utf8(json); at != std::string_view::npos)
    throw Error(Status::corrupt, text(label, ": header is not UTF-8 at byte ", at));
  SafetensorsHeader header = parse_safetensors_json(json, label);
  header.data_offset = 8 + size;
  check_entries(header, file_bytes - header.data_offset, label);
  return header;
}

std::string print_safetensors_header(const SafetensorsHeader& header) {
  std::string json = print_safetensors_json(header);
  json.append((8 - json.size() % 8) % 8, ' ');
  std::string out;
  append_u64(out, json.size());
  return out + json;
}

}  // namespace troika
