// Reads files through zlib.
#include "data/data_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>

#include "core/file_system.h"
#include "core/path.h"
#include "core/text.h"

namespace troika {
namespace {

constexpr int64_t kMaxDeflateRatio = 1032;  // no deflate stream grows by more
constexpr int64_t kBytesAtOnce = int64_t{1} << 20;
constexpr size_t kInputBytes = size_t{1} << 16;
constexpr int kGzipWindow = 15 + 16;  // zlib's way to ask for gzip with its largest window
constexpr std::array<uint8_t, 2> kGzipMagic = {0x1F, 0x8B};

}  // namespace

DataFile::DataFile(const std::string& path, const char* kind) : path_(path), kind_(kind) {
  std::error_code code;
  const auto status = std::filesystem::status(path_of(path), code);
  if (status.type() == std::filesystem::file_type::not_found) fail(Status::not_found, "there is no such file");
  if (code) fail(Status::io, code.message());
  if (!std::filesystem::is_regular_file(status)) fail(Status::io, "is not a regular file");
  const auto size = std::filesystem::file_size(path_of(path), code);
  if (code) fail(Status::io, code.message());
  file_bytes_ = static_cast<int64_t>(std::min<uintmax_t>(size, uintmax_t{1} << 50));

  errno = 0;
  file_.reset(open_stream(path));
  if (!file_) {
    if (errno == ENOMEM) throw std::bad_alloc();
    fail(errno == ENOENT ? Status::not_found : Status::io, std::strerror(errno));
  }
  input_.resize(kInputBytes);
  refill();
  if (!begins_stream()) return;
  if (inflateInit2(&stream_, kGzipWindow) != Z_OK) throw std::bad_alloc();
  inflater_.reset(&stream_);
}

int64_t DataFile::read(uint8_t* to, int64_t n) {
  int64_t done = 0;
  while (done < n) {
    const auto ask = static_cast<unsigned>(std::min(n - done, kBytesAtOnce));
    const int64_t got = inflater_ ? inflate_some(to + done, ask) : copy_some(to + done, ask);
    if (got == 0) break;
    done += got;
  }
  return done;
}

int64_t DataFile::most_bytes() const { return inflater_ ? file_bytes_ * kMaxDeflateRatio : file_bytes_; }

void DataFile::fail(Status status, const std::string& why) const {
  throw Error(status, text(kind_, " file '", path_, "': ", why));
}

// Keeps what was not consumed, and reads more after it. At the end of the file nothing is added.
void DataFile::refill() {
  std::memmove(input_.data(), stream_.next_in ? stream_.next_in : input_.data(), stream_.avail_in);
  const size_t got = std::fread(input_.data() + stream_.avail_in, 1, input_.size() - stream_.avail_in, file_.get());
  if (got == 0 && std::ferror(file_.get())) fail(Status::io, std::strerror(errno));
  stream_.next_in = input_.data();
  stream_.avail_in += static_cast<unsigned>(got);
}

bool DataFile::begins_stream() const {
  return stream_.avail_in >= 2 && stream_.next_in[0] == kGzipMagic[0] && stream_.next_in[1] == kGzipMagic[1];
}

int64_t DataFile::copy_some(uint8_t* to, unsigned n) {
  if (stream_.avail_in == 0) refill();
  n = std::min(n, stream_.avail_in);
  std::memcpy(to, stream_.next_in, n);
  stream_.next_in += n;
  stream_.avail_in -= n;
  return n;
}

// Returns 0 only after the last stream, if its sum and size were right.
int64_t DataFile::inflate_some(uint8_t* to, unsigned n) {
  stream_.next_out = to;
  stream_.avail_out = n;
  while (stream_.avail_out == n) {
    if (has_ended_) {
      if (stream_.avail_in < 2) refill();
      if (stream_.avail_in == 0) return 0;
      if (!begins_stream()) fail(Status::corrupt, "has trailing bytes after its gzip stream");
      inflateReset(&stream_);
      has_ended_ = false;
    }
    if (stream_.avail_in == 0) refill();
    if (stream_.avail_in == 0) fail(Status::corrupt, "is truncated inside its gzip stream");
    const int code = inflate(&stream_, Z_NO_FLUSH);
    if (code == Z_MEM_ERROR) throw std::bad_alloc();
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
      fail(Status::corrupt, text("its gzip stream is damaged (", stream_.msg ? stream_.msg : "no reason given", ")"));
    has_ended_ = code == Z_STREAM_END;
  }
  return n - stream_.avail_out;
}

}  // namespace troika
