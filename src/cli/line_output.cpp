// Cuts lines, and writes them whole.
#include "cli/line_output.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace troika::cli {
namespace {

constexpr size_t kLongestPart = size_t{64} << 10;  // of a line
constexpr size_t kMostKept = size_t{1} << 20;
// A pipe that is ready takes this much without waiting.
constexpr size_t kMostWritten = 4096;

}  // namespace

void LineCutter::cut(size_t length, bool ends_line, const Visitor& visit) {
  visit({std::string_view(line_).substr(0, length), is_at_begin_, ends_line});
  line_.erase(0, length);
  is_at_begin_ = ends_line;
}

void LineCutter::add(std::string_view bytes, const Visitor& visit) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const bool ends_line = end != std::string_view::npos;
    line_ += bytes.substr(0, end);
    bytes.remove_prefix(ends_line ? end + 1 : bytes.size());
    while (line_.size() > kLongestPart) cut(kLongestPart, false, visit);
    if (ends_line) cut(line_.size(), true, visit);
  }
}

void LineCutter::finish(const Visitor& visit) {
  if (!line_.empty() || !is_at_begin_) cut(line_.size(), false, visit);
  is_at_begin_ = true;
}

void LineOutput::add(int source, std::string_view prefix, const LinePart& part) {
  if (error_ != 0) return;
  const bool goes_on = open_source_ == source && !part.begins_line;
  if (open_source_ != kNoSource && !goes_on) kept_ += '\n';
  if (!goes_on) kept_ += prefix;
  kept_ += part.text;
  if (part.ends_line) kept_ += '\n';
  open_source_ = part.ends_line ? kNoSource : source;
}

void LineOutput::write() {
  while (has_kept() && error_ == 0) {
    pollfd polled{file_, POLLOUT, 0};
    if (::poll(&polled, 1, 0) <= 0) break;
    const ssize_t count = ::write(file_, kept_.data() + written_, std::min(kept_.size() - written_, kMostWritten));
    if (count >= 0)
      written_ += static_cast<size_t>(count);
    else if (errno == EAGAIN)
      break;
    else if (errno != EINTR)
      error_ = errno;
  }
  if (!has_kept() || error_ != 0) kept_.clear(), written_ = 0;
  if (written_ > kMostKept) kept_.erase(0, std::exchange(written_, 0));
}

bool LineOutput::is_full() const { return kept_.size() - written_ > kMostKept; }

}  // namespace troika::cli
