// libFuzzer target for the header parser: any bytes are refused with CORRUPT, or parse to a
// consistent header.
//
// `clang++ -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -Isrc -Iinclude`
// `tests/state/safetensors_fuzz.cpp src/state/safetensors_header.cpp`
// `src/state/safetensors_json.cpp src/core/utf8.cpp src/core/shape.cpp`
#include <cstdlib>

#include "core/text.h"
#include "state/safetensors_header.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace troika;
  try {
    const auto header = parse_safetensors_header({reinterpret_cast<const char*>(data), size}, size, "fuzz");
    uint64_t end = 0;
    for (const TensorEntry& entry : header.entries) {
      const auto bits =
          static_cast<uint64_t>(entry.shape.elements()) * static_cast<uint64_t>(safetensors_bits(entry.dtype));
      if (entry.begin != end || entry.end < entry.begin || bits != 8 * entry.bytes()) std::abort();
      end = entry.end;
    }
    if (header.data_offset + end != size) std::abort();
    const std::string head = print_safetensors_header(header);
    if (parse_safetensors_header(head, head.size() + end, "fuzz").metadata != header.metadata) std::abort();
  } catch (const Error& error) {
    if (error.status() != Status::corrupt) std::abort();
  }
  return 0;
}
