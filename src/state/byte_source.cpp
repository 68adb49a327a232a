// Reading files and memory.
#include "state/byte_source.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/text.h"
#include "core/utf8.h"

namespace troika {
namespace {

constexpr uint64_t kLargestRead = uint64_t{1} << 30;  // Linux moves at most 2 GiB per call

}  // namespace

std::string_view ByteSource::view(uint64_t offset, uint64_t size, std::string& storage) const {
  storage.resize(static_cast<size_t>(size));
  read(offset, storage.data(), size);
  return storage;
}

FileSource::FileSource(const std::string& path, std::string_view what, const FileSystem& file_system)
    : ByteSource(text(what, " '", printable(path), "'")), file_system_(file_system) {
  try {
    open(path);
  } catch (...) {
    if (file_ >= 0) (void)file_system_.close(file_);
    throw;
  }
}

void FileSource::open(const std::string& path) {
  do {
    file_ = file_system_.open(FileSystem::kCurrentDirectory, path.c_str(), Opening::existing, 0);
  } while (file_ < 0 && errno == EINTR);
  if (file_ < 0) {
    const bool is_missing = errno == ENOENT || errno == ENOTDIR;
    throw Error(is_missing ? Status::not_found : Status::io,
                text(label(), ": cannot open: ", system_error_text(errno)));
  }
  FileStatus status;
  if (status_of(file_, status) != 0)
    throw Error(Status::io, text(label(), ": cannot ask for its size: ", system_error_text(errno)));
  if (!status.is_regular)
    throw Error(Status::io, text(label(), status.is_directory ? ": is a directory" : ": is not a regular file",
                                 ", need a safetensors file"));
  size_ = status.size;
}

FileSource::~FileSource() { (void)file_system_.close(file_); }

void FileSource::read(uint64_t offset, void* destination, uint64_t size) const {
  char* next = static_cast<char*>(destination);
  while (size > 0) {
    const ssize_t done = file_system_.pread(file_, next, static_cast<size_t>(std::min(size, kLargestRead)), offset);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw Error(Status::io, text(label(), ": cannot read: ", system_error_text(errno)));
    if (done == 0)
      throw Error(Status::corrupt, text(label(), ": ends at byte ", offset, "; it became shorter while it was read"));
    next += done;
    offset += static_cast<uint64_t>(done);
    size -= static_cast<uint64_t>(done);
  }
}

MemorySource::MemorySource(const void* data, uint64_t size, std::string label)
    : ByteSource(std::move(label)), data_(static_cast<const char*>(data)) {
  size_ = size;
}

void MemorySource::read(uint64_t offset, void* destination, uint64_t size) const {
  std::string unused;
  if (size > 0) std::memcpy(destination, view(offset, size, unused).data(), static_cast<size_t>(size));
}

std::string_view MemorySource::view(uint64_t offset, uint64_t size, std::string&) const {
  if (offset > size_ || size > size_ - offset)
    throw Error(Status::corrupt, text(label(), ": is ", size_, " bytes, need ", size, " from byte ", offset, " on"));
  return {data_ + offset, static_cast<size_t>(size)};
}

}  // namespace troika
