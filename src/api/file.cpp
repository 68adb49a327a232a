// The C functions of troika/file.h.
#include <troika/file.h>

#include "api/guard.h"
#include "core/utf8.h"
#include "state/kept_files.h"
#include "state/safetensors.h"

namespace troika::api {
namespace {

std::string inspect(const std::string& path) {
  const SafetensorsReader reader(path, "file");
  std::string out;
  for (const auto& [key, value] : reader.metadata())
    out += text("metadata ", printable(key), " = ", printable(value), '\n');
  for (const TensorEntry& entry : reader.entries())
    out += text(printable(entry.name), ' ', entry.dtype, ' ', entry.shape, '\n');
  return out;
}

}  // namespace
}  // namespace troika::api

troika_status troika_file_inspect(const char* path, char* buffer, int64_t capacity, int64_t* out_size,
                                  troika_error* error) {
  using namespace troika::api;
  return guard(error, [&] {
    write_text(inspect(required(path, "troika_file_inspect", "path")), buffer, capacity, out_size,
               "troika_file_inspect");
  });
}

troika_status troika_file_newest(const char* path, char* buffer, int64_t capacity, int64_t* out_size,
                                 troika_error* error) {
  using namespace troika::api;
  constexpr const char* kName = "troika_file_newest";
  return guard(error, [&] {
    write_text(troika::newest_file(required(path, kName, "path")), buffer, capacity, out_size, kName);
  });
}
