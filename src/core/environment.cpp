// The names of environment variables, and the only place that reads them.
#include "core/environment.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

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
  return folder && folder[0] == '/' ? folder : "";
}

std::string relative_backend_folder() {
  const char* folder = secure_getenv("TROIKA_BACKEND_DIR");
  return folder && folder[0] != '/' ? folder : "";
}

std::string cache_folder() {
  std::string folder = read_variable("TROIKA_CACHE_DIR");
  if (folder.empty()) {
    folder = read_variable("XDG_CACHE_HOME");
    if (folder.empty() && !read_variable("HOME").empty()) folder = read_variable("HOME") + "/.cache";
    if (!folder.empty()) folder += "/troika";
  }
  if (folder.empty() || folder[0] != '/') return "";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return access(folder.c_str(), W_OK) == 0 ? folder : "";
}

std::string dumped_pass() { return read_variable("TROIKA_DUMP"); }

}  // namespace troika
