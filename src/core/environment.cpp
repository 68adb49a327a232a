// The names of environment variables, and the only place that reads them.
#include "core/environment.h"

#include <cstdlib>

#include "core/path.h"

namespace troika {
namespace {

using Value = std::optional<std::string>;

#ifdef _WIN32

Value find_variable(const char* name) {
  const wchar_t* const value = _wgetenv(path_of(name).c_str());
  return value ? Value(text_of(value)) : std::nullopt;
}

// A program of Windows never runs with the rights of another user than the one who started it.
Value find_trusted_variable(const char* name) { return find_variable(name); }

#else

Value find_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? Value(value) : std::nullopt;
}

// Returns nothing in a program that runs with more rights than the user who started it.
Value find_trusted_variable(const char* name) {
  const char* const value = secure_getenv(name);
  return value ? Value(value) : std::nullopt;
}

#endif

// Returns the variable's value; empty if it is not set.
std::string read_variable(const char* name) { return find_variable(name).value_or(""); }

}  // namespace

std::string backend_folder() { return find_trusted_variable("TROIKA_BACKEND_DIR").value_or(""); }

std::string cache_folder() { return read_variable("TROIKA_CACHE_DIR"); }

std::string own_kernels() { return read_variable("TROIKA_OWN_KERNELS"); }

std::string user_cache_folder() {
#ifdef _WIN32
  if (const std::string folder = read_variable("LOCALAPPDATA"); !folder.empty()) return folder + "\\troika";
#endif
  if (const std::string folder = read_variable("XDG_CACHE_HOME"); !folder.empty()) return folder + "/troika";
  const std::string home = read_variable("HOME");
  return home.empty() ? "" : home + "/.cache/troika";
}

std::string log_levels() { return read_variable("TROIKA_LOG"); }

std::string dumped_pass() { return read_variable("TROIKA_DUMP"); }

std::string left_out_passes() { return read_variable("TROIKA_LEAVE_OUT"); }

std::optional<std::string> launcher_variable(const std::string& name) { return find_trusted_variable(name.c_str()); }

}  // namespace troika
