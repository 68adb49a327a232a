// Counts columns, and breaks lines.
#include "cli/line_width.h"

#include <algorithm>

namespace troika::cli {
namespace {

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }

// Returns the bytes of the first `columns` characters.
size_t bytes_of(const std::string& text, size_t from, int columns) {
  size_t at = from;
  for (; at < text.size(); ++at)
    if (begins_character(text[at]) && columns-- == 0) break;
  return at - from;
}

}  // namespace

int width_of(const std::string& text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string fitted(const std::vector<std::string>& pieces, const std::vector<size_t>& order, int columns) {
  std::vector<bool> is_kept(pieces.size(), false);
  int room = columns;
  for (const size_t piece : order) {
    const int width = width_of(pieces[piece]);
    if (columns != kAnyWidth && width > room && piece != order.front()) break;
    is_kept[piece] = true;
    room -= width;
  }
  std::string line;
  for (size_t i = 0; i < pieces.size(); ++i)
    if (is_kept[i]) line += pieces[i];
  return columns == kAnyWidth ? line : line.substr(0, bytes_of(line, 0, columns));
}

std::string wrapped(const std::string& text, int columns) {
  if (columns == kAnyWidth) return text;
  std::string out;
  size_t at = 0;
  while (width_of(text.substr(at)) > columns) {
    const size_t whole = bytes_of(text, at, columns);
    size_t end = text.rfind(' ', at + whole);
    if (end == std::string::npos || end <= at) {
      out += text.substr(at, whole) + '\n';
      at += whole;
      continue;
    }
    size_t last = end;  // of the line: the spaces before it go too
    while (last > at && text[last - 1] == ' ') --last;
    out += text.substr(at, last - at) + '\n';
    at = text.find_first_not_of(' ', end);
    if (at == std::string::npos) return out;
  }
  return out + text.substr(at);
}

}  // namespace troika::cli
