// Lines of several sources on one output, each line whole.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace troika::cli {

// A line without its line break, or a part of a very long line.
struct LinePart {
  std::string_view text;
  bool begins_line, ends_line;
};

// Cuts bytes into lines. A line break is '\n' only, so a progress bar is one line.
class LineCutter {
 public:
  using Visitor = std::function<void(const LinePart&)>;

  // Calls `visit` for each line that ends in `bytes`, and for parts of lines that are too long.
  void add(std::string_view bytes, const Visitor& visit);

  // Calls `visit` for the line that has not ended, if there is one.
  void finish(const Visitor& visit);

 private:
  void cut(size_t length, bool ends_line, const Visitor& visit);

  std::string line_;         // what has arrived of it, without the parts that were visited
  bool is_at_begin_ = true;  // of a line
};

// Writes to a file descriptor without waiting for its reader: text that the reader does not take
// yet is kept.
class LineOutput {
 public:
  static constexpr int kOwnSource = -1;  // the source of the launcher's own lines

  explicit LineOutput(int file) : file_(file) {}

  // Adds a part of a line of `source`. If another source's line has not ended, ends it first, and
  // the rest of it becomes a line with a prefix again.
  void add(int source, std::string_view prefix, const LinePart& part);

  // Writes as much as the reader takes without waiting.
  void write();

  int file() const { return file_; }
  bool has_kept() const { return written_ < kept_.size(); }
  bool is_full() const;                 // more bytes have to wait until some are written
  int error() const { return error_; }  // why writing has failed, as errno; then text is dropped. 0: not failed

 private:
  static constexpr int kNoSource = -2;

  int file_, error_ = 0, open_source_ = kNoSource;  // the source of a line that has not ended
  std::string kept_;
  size_t written_ = 0;
};

}  // namespace troika::cli
