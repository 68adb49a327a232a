/** @file file.hpp Files without a model. Any thread. */
#ifndef TROIKA_FILE_HPP
#define TROIKA_FILE_HPP

#include <troika/file.h>
#include <troika/error.hpp>

namespace troika {
inline namespace v1 {

/** Returns the contents of a safetensors file, one line each. Throws Error with corrupt, io ... */
inline std::string file_inspect(const std::string& path) {
  return detail::read_text(troika_file_inspect, detail::c_text(path, "path"));
}

/** Returns the newest file that `Trainer::save_with` kept for `path`. Throws Error. */
inline std::string file_newest(const std::string& path) {
  return detail::read_text(troika_file_newest, detail::c_text(path, "path"));
}

}  // namespace v1
}  // namespace troika

#endif
