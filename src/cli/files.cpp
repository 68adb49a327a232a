// Reading and replacing whole files, and locking folders.
#include "cli/files.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "cli/client.h"
#include "core/atomic_file.h"
#include "core/error.h"

namespace troika::cli {
namespace {

// Whether `name` is a temporary file of `of`, from a process that has ended.
bool is_stale(const std::string& name, const std::string& of) {
  const std::string head = "." + of + ".tmp.";
  if (!name.starts_with(head)) return false;
  char* end = nullptr;
  const long process = std::strtol(name.c_str() + head.size(), &end, 10);
  if (process <= 0 || (*end != '\0' && *end != '.')) return false;
  return ::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH;
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream contents;
  if (in) contents << in.rdbuf();
  if (!in || in.bad()) throw Failure("cannot read '" + path.string() + "': " + std::strerror(errno));
  return contents.str();
}

void write_file(const std::filesystem::path& path, std::string_view contents) {
  try {
    write_file_atomically("file", path.string(), contents);
  } catch (const Error& error) {
    throw Failure(error.what());
  }
}

void remove_stale_temporaries(const std::filesystem::path& folder, const std::vector<std::string>& names) {
  std::error_code ignored;  // a leftover file does no harm
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string found = entry.path().filename().string();
    if (std::any_of(names.begin(), names.end(), [&](const std::string& name) { return is_stale(found, name); }))
      std::filesystem::remove(entry.path(), ignored);
  }
}

FolderLock::~FolderLock() {
  if (is_taken()) ::close(file_);
}

void FolderLock::take(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / ".lock";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) throw Failure("cannot write '" + path.string() + "': " + std::strerror(errno));
  if (::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {  // without locks, go on without one
    ::close(file);
    throw Failure("'" + folder.string() + "' is in use by another process; wait for its end, or give another folder");
  }
  file_ = file;
}

}  // namespace troika::cli
