// The bytes of a file of samples, plain or gzipped.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"

namespace troika {

// A file, decompressed if it is gzipped: one gzip stream or several, one after another, with
// nothing after the last stream (gzread would silently ignore it). Every error names the path.
class DataFile {
 public:
  // `kind` is the first word of each error, such as "idx". Errors: NOT_FOUND, IO, OUT_OF_MEMORY.
  DataFile(const std::string& path, const char* kind);
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;

  // Reads up to `n` bytes; fewer only at the end of the file. Errors: IO, CORRUPT, OUT_OF_MEMORY.
  int64_t read(uint8_t* to, int64_t n);

  // The largest number of bytes that the file can have, decompressed.
  int64_t most_bytes() const;

  [[noreturn]] void fail(Status status, const std::string& why) const;

 private:
  void refill();
  bool begins_stream() const;
  int64_t copy_some(uint8_t* to, unsigned n);
  int64_t inflate_some(uint8_t* to, unsigned n);

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  struct End {
    void operator()(z_stream* stream) const { inflateEnd(stream); }
  };

  std::string path_;
  const char* kind_;
  int64_t file_bytes_ = 0;
  std::unique_ptr<std::FILE, Close> file_;
  std::vector<uint8_t> input_;
  z_stream stream_{};                        // its input is what was read and not yet consumed, of plain files too
  std::unique_ptr<z_stream, End> inflater_;  // null for a plain file
  bool has_ended_ = false;                   // the stream, not the file
};

}  // namespace troika
