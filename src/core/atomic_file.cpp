// The order of system calls that makes a file atomic and durable: see AtomicFile.
#include "core/atomic_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <random>

#include "core/error.h"
#include "core/path.h"
#include "core/text.h"
#include "core/utf8.h"

namespace troika {
namespace {

constexpr uint64_t kLargestWrite = uint64_t{1} << 30;  // Linux moves at most 2 GiB per call

// Returns the file at the end of a chain of symbolic links, which need not exist. `error` is 0 or
// an errno.
std::filesystem::path follow_links(std::filesystem::path path, int& error) {
  constexpr int kMaxLinks = 40;  // as in the kernel
  std::error_code code;
  for (int links = 0; std::filesystem::is_symlink(std::filesystem::symlink_status(path, code)); ++links) {
    const std::filesystem::path target = std::filesystem::read_symlink(path, code);
    error = links == kMaxLinks ? ELOOP : code.value();
    if (error != 0) return path;
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  return path;
}

// `.NAME.tmp.PID.RANDOM`, short enough for a directory entry.
std::string temporary_name(const std::string& name) {
  constexpr size_t kLongestName = 200;
  static constexpr char kDigits[] = "0123456789abcdef";
  std::random_device random;
  std::string suffix;
  for (int i = 0; i < 8; ++i) suffix += kDigits[random() & 15];
  return text('.', name.substr(0, kLongestName), ".tmp.", ::getpid(), '.', suffix);
}

}  // namespace

AtomicFile::AtomicFile(std::string_view what, const std::string& path, uint64_t size, const FileSystem& file_system)
    : file_system_(file_system), label_(text(what, " '", printable(path), "'")), size_(size) {
  try {
    find_place(path);
    create();
  } catch (...) {
    discard();
    throw;
  }
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::find_place(const std::string& path) {
  if (path.empty()) throw Error(Status::invalid_argument, text(label_, ": the path is empty, need the name of a file"));
  int error = 0;
  const std::filesystem::path target = follow_links(path_of(path), error);
  if (error != 0) fail("cannot find its place", error);
  directory_name_ = target.has_parent_path() ? text_of(target.parent_path()) : ".";
  name_ = text_of(target.filename());

  std::error_code ignored;
  const std::filesystem::file_status previous = std::filesystem::status(target, ignored);
  if (std::filesystem::exists(previous)) {
    if (is_directory(previous)) throw Error(Status::io, text(label_, ": is a directory, need the name of a file"));
    if (!is_regular_file(previous)) throw Error(Status::io, text(label_, ": exists and is not a regular file"));
    has_previous_ = true;
    mode_ = static_cast<mode_t>(previous.permissions()) & 0777;
  }
  do {
    directory_ = file_system_.open(FileSystem::kCurrentDirectory, directory_name_.c_str(), Opening::directory, 0);
  } while (directory_ < 0 && errno == EINTR);
  if (directory_ < 0) fail_in_directory("cannot open", errno);
}

void AtomicFile::create() {
  constexpr int kAttempts = 100;
  for (int attempt = 1; file_ < 0; ++attempt) {
    std::string name = temporary_name(name_);
    file_ = file_system_.open(directory_, name.c_str(), Opening::created, mode_);
    if (file_ >= 0) temporary_name_ = std::move(name);
    if (file_ < 0 && errno != EINTR && (errno != EEXIST || attempt == kAttempts))
      fail_in_directory("cannot create a file in", errno);
  }
  // The umask may have removed bits that the previous file has. If they cannot be set, the new file
  // is only more private.
  if (has_previous_) (void)file_system_.chmod(file_, mode_);

  int result = 0;
  do {
    result = size_ == 0 ? 0 : file_system_.allocate(file_, size_);
  } while (result != 0 && errno == EINTR);
  // Not every file system can reserve room. There a full disk is found in write().
  if (result != 0 && errno != EOPNOTSUPP && errno != EINVAL && errno != ENOSYS) fail("cannot write", errno);
}

void AtomicFile::write(const void* data, uint64_t size) {
  if (file_ < 0 || size > size_ - written_)
    throw Error(Status::internal, text(label_, ": written ", written_ + size, " bytes, announced ", size_));
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t done = file_system_.write(file_, next, static_cast<size_t>(std::min(size, kLargestWrite)));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail("cannot write", done < 0 ? errno : EIO);
    next += done;
    size -= static_cast<uint64_t>(done);
    written_ += static_cast<uint64_t>(done);
  }
}

void AtomicFile::commit() {
  if (file_ < 0 || written_ != size_)
    throw Error(Status::internal, text(label_, ": written ", written_, " bytes, announced ", size_));
  // A failed fsync is never tried again: the kernel may have dropped the pages, and would then
  // report success.
  if (file_system_.fsync(file_) != 0) fail("cannot flush to disk", errno);
  const int closed = file_system_.close(file_);
  file_ = -1;  // even after a failure the descriptor is gone
  if (closed != 0 && errno != EINTR) fail("cannot close", errno);
  if (file_system_.rename(directory_, temporary_name_.c_str(), name_.c_str()) != 0)
    fail("cannot rename the finished file into place", errno);
  temporary_name_.clear();
  // Some network file systems cannot flush a directory and return EINVAL.
  const int error = file_system_.fsync(directory_) == 0 || errno == EINVAL ? 0 : errno;
  discard();
  if (error != 0)
    throw Error(Status::io, text(label_, ": cannot flush directory '", printable_name(directory_name_), "' to disk: ",
                                 system_error_text(error), "; the new file is in place, but may not survive a crash"));
}

void AtomicFile::discard() noexcept {
  if (file_ >= 0) (void)file_system_.close(file_);
  if (!temporary_name_.empty()) (void)file_system_.unlink(directory_, temporary_name_.c_str());
  if (directory_ >= 0) (void)file_system_.close(directory_);
  file_ = directory_ = -1;
  temporary_name_.clear();
}

void AtomicFile::fail(std::string_view action, int error) {
  discard();
  throw Error(Status::io, text(label_, ": ", action, ": ", system_error_text(error),
                               has_previous_ ? "; the previous file is unchanged" : "; nothing was written"));
}

void AtomicFile::fail_in_directory(std::string_view action, int error) {
  fail(text(action, " directory '", printable_name(directory_name_), "'"), error);
}

void write_file_atomically(std::string_view what, const std::string& path, std::string_view bytes,
                           const FileSystem& file_system) {
  AtomicFile file(what, path, bytes.size(), file_system);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

}  // namespace troika
