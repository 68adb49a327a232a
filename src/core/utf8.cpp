// Decoding of UTF-8 (Unicode 15, table 3-7) and escaping for one-line output.
#include "core/utf8.h"

#include <cstdint>

namespace troika {
namespace {

struct Character {
  uint32_t code_point;
  size_t bytes;  // 0: not UTF-8
};

Character decode(std::string_view bytes, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return {first, 1};
  size_t size = 0;
  uint32_t code_point = 0, smallest = 0;
  if ((first & 0xE0) == 0xC0) {
    size = 2, code_point = first & 0x1F, smallest = 0x80;
  } else if ((first & 0xF0) == 0xE0) {
    size = 3, code_point = first & 0x0F, smallest = 0x800;
  } else if ((first & 0xF8) == 0xF0) {
    size = 4, code_point = first & 0x07, smallest = 0x10000;
  } else {
    return {0, 0};
  }
  if (bytes.size() - at < size) return {0, 0};
  for (size_t i = 1; i < size; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return {0, 0};
    code_point = code_point << 6 | (byte(at + i) & 0x3F);
  }
  const bool is_surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (code_point < smallest || code_point > 0x10FFFF || is_surrogate) return {0, 0};
  return {code_point, size};
}

bool breaks_a_line(uint32_t code_point) {
  const bool is_control = code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0);
  return is_control || code_point == 0x2028 || code_point == 0x2029;
}

}  // namespace

size_t find_invalid_utf8(std::string_view bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const size_t size = decode(bytes, at).bytes;
    if (size == 0) return at;
    at += size;
  }
  return std::string_view::npos;
}

std::string printable(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size());
  for (size_t at = 0; at < bytes.size();) {
    const auto [code_point, size] = decode(bytes, at);
    if (size != 0 && !breaks_a_line(code_point)) {
      out += bytes.substr(at, size);
      at += size;
      continue;
    }
    for (size_t end = at + (size == 0 ? 1 : size); at < end; ++at) {
      const auto byte = static_cast<unsigned char>(bytes[at]);
      out += "\\x";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

std::string printable_name(std::string_view bytes) {
  constexpr size_t kShown = 100;
  if (bytes.size() <= kShown) return printable(bytes);
  size_t size = kShown;
  while (size > kShown - 4 && (static_cast<unsigned char>(bytes[size]) & 0xC0) == 0x80) --size;
  return printable(bytes.substr(0, size)) + "...";
}

}  // namespace troika
