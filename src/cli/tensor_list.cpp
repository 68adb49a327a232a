// Reads the library's text of a safetensors file.
#include "cli/tensor_list.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>

#include "cli/client.h"
#include "cli/text.h"

namespace troika::cli {
namespace {

bool is_metadata(const std::string& line) {
  return line.starts_with("metadata ") && line.find(" = ") != std::string::npos;
}

}  // namespace

int64_t ListedTensor::elements() const {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

// The width is part of the dtype's name: F32, BF16, F8_E4M3. BOOL takes a byte.
int64_t ListedTensor::bytes() const {
  const size_t digits = dtype.find_first_of("0123456789");
  return elements() * (digits == std::string::npos ? 8 : std::atoll(dtype.c_str() + digits)) / 8;
}

bool ListedTensor::is_parameter() const {
  return !name.starts_with("optimizer/") && !name.starts_with("momentum/") && !name.ends_with("running_mean") &&
         !name.ends_with("running_var") && !name.ends_with("num_batches_tracked");
}

std::string inspect_file(const std::string& path) {
  int64_t size = 0;
  call(troika_file_inspect, path.c_str(), static_cast<char*>(nullptr), int64_t{0}, &size);
  std::string text(static_cast<size_t>(size), '\0');
  call(troika_file_inspect, path.c_str(), text.data(), size, &size);
  text.resize(text.find('\0'));
  return text;
}

std::vector<ListedTensor> parse_tensors(const std::string& text) {
  std::vector<ListedTensor> tensors;
  for (const std::string& line : split(text, '\n')) {  // NAME DTYPE [d0, d1]
    const size_t shape = line.rfind(" [");
    if (is_metadata(line) || shape == std::string::npos || shape == 0) continue;
    const size_t dtype = line.rfind(' ', shape - 1);
    if (dtype == std::string::npos) continue;
    ListedTensor tensor{line.substr(0, dtype), line.substr(dtype + 1, shape - dtype - 1), {}};
    if (line[shape + 2] != ']')  // else a scalar
      for (const std::string& dim : split(line.substr(shape + 2), ',')) tensor.dims.push_back(std::atoll(dim.c_str()));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace troika::cli
