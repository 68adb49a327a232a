// Reading and replacing whole files, and locking folders.
#include "cli/files.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "cli/client.h"
#include "cli/process_name.h"
#include "core/atomic_file.h"
#include "core/error.h"
#include "core/path.h"

namespace troika::cli {
namespace {

// Whether `name` is a temporary file of `of`, from a process that has ended.
bool is_stale(const std::string& name, const std::string& of) {
  const std::string head = "." + of + ".tmp.";
  if (!name.starts_with(head)) return false;
  char* end = nullptr;
  const long process = std::strtol(name.c_str() + head.size(), &end, 10);
  if (process <= 0 || (*end != '\0' && *end != '.')) return false;
  return !may_exist(process);
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream contents;
  if (in) contents << in.rdbuf();
  if (!in || in.bad()) throw Failure("cannot read '" + text_of(path) + "': " + std::strerror(errno));
  return contents.str();
}

void write_file(const std::filesystem::path& path, std::string_view contents) {
  try {
    write_file_atomically("file", text_of(path), contents);
  } catch (const Error& error) {
    throw Failure(error.what());
  }
}

void remove_stale_temporaries(const std::filesystem::path& folder, const std::vector<std::string>& names) {
  std::error_code ignored;  // a leftover file does no harm
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string found = text_of(entry.path().filename());
    if (std::any_of(names.begin(), names.end(), [&](const std::string& name) { return is_stale(found, name); }))
      std::filesystem::remove(entry.path(), ignored);
  }
}

}  // namespace troika::cli
