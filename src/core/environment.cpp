// The names of environment variables, and the only place that reads them.
#include "core/environment.h"

#include <cstdlib>

namespace troika {
namespace {

// Returns the variable's value; empty if it is not set.
std::string read_variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

std::string backend_folder() {
  const char* folder = secure_getenv("TROIKA_BACKEND_DIR");
  return folder ? folder : "";
}

std::string cache_folder() { return read_variable("TROIKA_CACHE_DIR"); }

std::string user_cache_folder() {
  if (const std::string folder = read_variable("XDG_CACHE_HOME"); !folder.empty()) return folder + "/troika";
  const std::string home = read_variable("HOME");
  return home.empty() ? "" : home + "/.cache/troika";
}

std::string log_levels() { return read_variable("TROIKA_LOG"); }

std::string dumped_pass() { return read_variable("TROIKA_DUMP"); }

std::optional<std::string> launcher_variable(const std::string& name) {
  const char* const value = secure_getenv(name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

}  // namespace troika
