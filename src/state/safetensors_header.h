// The header of a safetensors file: the tensors that it describes, and the rules that it must keep.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/shape.h"

namespace troika {

// A file is: u64 N, little-endian | N bytes of JSON | the data of all tensors, without a gap.
// {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [BEGIN, END]}, ..., "__metadata__":
// {"KEY": "VALUE"}}
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr uint64_t kMaxOffset = (uint64_t{1} << 48) - 1;
constexpr size_t kMaxTensors = 1'000'000;
constexpr size_t kMaxTensorNameBytes = 1024;
constexpr int kMaxFileRank = 32;

struct TensorEntry {
  std::string name;
  std::string dtype;  // "F32"
  Shape shape;
  uint64_t begin = 0, end = 0;  // bytes from the start of the data; end is one past
  uint64_t bytes() const { return end - begin; }
};

struct SafetensorsHeader {
  std::vector<TensorEntry> entries;  // in the order of their data
  std::map<std::string, std::string> metadata;
  uint64_t data_offset = 0;  // from the start of the file
};

// Returns the size of an element in bits; 0 for a dtype that the format does not have. The order is
// the format's: by alignment.
int safetensors_bits(std::string_view dtype);
int safetensors_dtype_order(std::string_view dtype);  // -1 for an unknown dtype

// F32, F64, I32, I64 and U8 are types of this library too.
std::optional<DType> dtype_from_safetensors(std::string_view dtype);
std::string_view safetensors_dtype(DType dtype);

// Returns the bytes that a tensor of this dtype and shape needs. Throws `status` with `label`
// before the reason.
uint64_t safetensors_bytes(std::string_view dtype, const Shape& shape, Status status, const std::string& label);

// Throws `status` with `label` before the reason unless a tensor may have this name.
void check_tensor_name(std::string_view name, Status status, const std::string& label);

// Returns N of a file that begins with `bytes` and has `file_bytes` bytes. Throws CORRUPT. `label`
// names the file in messages.
uint64_t safetensors_header_bytes(std::string_view bytes, uint64_t file_bytes, const std::string& label);

// Reads and checks a whole header; `bytes` holds the first 8 + N bytes of the file, or more. Throws
// CORRUPT.
SafetensorsHeader parse_safetensors_header(std::string_view bytes, uint64_t file_bytes, const std::string& label);

// Returns the first 8 + N bytes of a file with these entries, byte for byte as the reference writer
// does: metadata first, keys sorted, spaces up to a multiple of 8.
std::string print_safetensors_header(const SafetensorsHeader& header);

}  // namespace troika
