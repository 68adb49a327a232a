// The contents of a safetensors file, tensor by tensor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troika::cli {

struct ListedTensor {
  std::string name, dtype;
  std::vector<int64_t> dims;

  int64_t elements() const;
  int64_t bytes() const;
  bool is_parameter() const;  // neither a buffer nor an optimizer's state
};

// Returns the library's text of the file: one line per metadata entry and per tensor.
std::string inspect_file(const std::string& path);

// Returns the tensors of such a text.
std::vector<ListedTensor> parse_tensors(const std::string& text);

}  // namespace troika::cli
