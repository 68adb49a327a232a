// Reads IDX through zlib. Every size is checked against the file before memory is allocated.
#include "data/idx.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <new>
#include <vector>

#include "core/error.h"
#include "core/file_system.h"
#include "core/path.h"
#include "core/text.h"

namespace troika {
namespace {

constexpr int64_t kMaxDeflateRatio = 1032;  // no deflate stream grows by more
constexpr int64_t kChunkBytes = int64_t{1} << 20;
constexpr size_t kInputBytes = size_t{1} << 16;
constexpr int kGzipWindow = 15 + 16;  // zlib's way to ask for gzip with its largest window
constexpr std::array<uint8_t, 2> kGzipMagic = {0x1F, 0x8B};
constexpr uint8_t kElementTypeU8 = 0x08;

// A file, decompressed if it is gzipped: one gzip stream or several, one after another, with
// nothing after the last stream (gzread would silently ignore it). Every error names the path.
class IdxFile {
 public:
  explicit IdxFile(const std::string& path) : path_(path) {
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

  IdxFile(const IdxFile&) = delete;
  IdxFile& operator=(const IdxFile&) = delete;

  // Reads up to `n` bytes; fewer only at the end of the file.
  int64_t read(uint8_t* to, int64_t n) {
    int64_t done = 0;
    while (done < n) {
      const auto ask = static_cast<unsigned>(std::min(n - done, kChunkBytes));
      const int64_t got = inflater_ ? inflate_some(to + done, ask) : copy_some(to + done, ask);
      if (got == 0) break;
      done += got;
    }
    return done;
  }

  // The largest number of bytes that the file can have, decompressed.
  int64_t most_bytes() const { return inflater_ ? file_bytes_ * kMaxDeflateRatio : file_bytes_; }

  [[noreturn]] void fail(Status status, const std::string& why) const {
    throw Error(status, text("idx file '", path_, "': ", why));
  }

 private:
  // Keeps what was not consumed, and reads more after it. At the end of the file nothing is added.
  void refill() {
    std::memmove(input_.data(), stream_.next_in ? stream_.next_in : input_.data(), stream_.avail_in);
    const size_t got = std::fread(input_.data() + stream_.avail_in, 1, input_.size() - stream_.avail_in, file_.get());
    if (got == 0 && std::ferror(file_.get())) fail(Status::io, std::strerror(errno));
    stream_.next_in = input_.data();
    stream_.avail_in += static_cast<unsigned>(got);
  }

  bool begins_stream() const {
    return stream_.avail_in >= 2 && stream_.next_in[0] == kGzipMagic[0] && stream_.next_in[1] == kGzipMagic[1];
  }

  int64_t copy_some(uint8_t* to, unsigned n) {
    if (stream_.avail_in == 0) refill();
    n = std::min(n, stream_.avail_in);
    std::memcpy(to, stream_.next_in, n);
    stream_.next_in += n;
    stream_.avail_in -= n;
    return n;
  }

  // Returns 0 only after the last stream, if its sum and size were right.
  int64_t inflate_some(uint8_t* to, unsigned n) {
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

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  struct End {
    void operator()(z_stream* stream) const { inflateEnd(stream); }
  };

  std::string path_;
  int64_t file_bytes_ = 0;
  std::unique_ptr<std::FILE, Close> file_;
  std::vector<uint8_t> input_;
  z_stream stream_{};                        // its input is what was read and not yet consumed, of plain files too
  std::unique_ptr<z_stream, End> inflater_;  // null for a plain file
  bool has_ended_ = false;                   // the stream, not the file
};

Shape read_header(IdxFile& file) {
  std::array<uint8_t, 4> magic{};
  if (file.read(magic.data(), 4) < 4) file.fail(Status::corrupt, "is truncated inside its header");
  if (magic[0] != 0 || magic[1] != 0)
    file.fail(Status::corrupt, text("begins with bytes ", int{magic[0]}, " ", int{magic[1]}, ", an IDX file with 0 0"));
  if (magic[2] != kElementTypeU8)
    file.fail(Status::corrupt, text("has element type ", int{magic[2]}, ", need ", int{kElementTypeU8}, " (u8)"));
  const int rank = magic[3];
  if (rank < 1 || rank > kMaxRank) file.fail(Status::corrupt, text("has rank ", rank, ", need 1 to ", kMaxRank));

  std::vector<int64_t> dims;
  for (int i = 0; i < rank; ++i) {
    std::array<uint8_t, 4> bytes{};
    if (file.read(bytes.data(), 4) < 4) file.fail(Status::corrupt, "is truncated inside its header");
    dims.push_back(int64_t{bytes[0]} << 24 | int64_t{bytes[1]} << 16 | int64_t{bytes[2]} << 8 | int64_t{bytes[3]});
  }
  return Shape(std::move(dims));
}

// Returns the elements of `shape`, if the file can hold so many. The header has 4 bytes of magic,
// and 4 per dimension.
int64_t count_elements(const IdxFile& file, const Shape& shape) {
  const int64_t most = std::max<int64_t>(file.most_bytes() - 4 - 4 * shape.rank(), 0);
  int64_t n = 1;
  for (int64_t d : shape.dims()) {
    if (d != 0 && n > most / d)
      file.fail(Status::corrupt,
                text("is truncated: its header says ", shape, ", but it holds at most ", most, " elements"));
    n *= d;
  }
  return n;
}

}  // namespace

IdxArray read_idx(const std::string& path) {
  IdxFile file(path);
  IdxArray array;
  array.shape = read_header(file);
  const int64_t n = count_elements(file, array.shape);

  // Reserved memory costs nothing until it is touched: a gzipped file with a false size takes only
  // what it holds.
  array.elements.reserve(static_cast<size_t>(n));
  for (int64_t done = 0; done < n;) {
    const int64_t ask = std::min(n - done, kChunkBytes);
    array.elements.resize(static_cast<size_t>(done + ask));
    const int64_t got = file.read(array.elements.data() + done, ask);
    done += got;
    if (got < ask)
      file.fail(Status::corrupt,
                text("is truncated: its header says ", array.shape, ", ", n, " elements, found ", done));
  }
  uint8_t extra = 0;  // reading to the end also makes zlib check the gzip stream's sum
  if (file.read(&extra, 1) != 0)
    file.fail(Status::corrupt, text("has trailing bytes after the ", n, " elements of ", array.shape));
  return array;
}

}  // namespace troika
