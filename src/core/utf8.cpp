// Decoding of UTF-8 (Unicode 15, table 3-7) and escaping for one-line output.
#include "core/utf8.h"

#include <cstdint>
#include <cstring>

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

// The printed form of one character, or of one byte that is not UTF-8.
struct Printed {
  char text[16];
  size_t size;
  size_t bytes;  // of the source
};

Printed print_at(std::string_view bytes, size_t at) {
  constexpr char kDigits[] = "0123456789abcdef";
  const auto [code_point, size] = decode(bytes, at);
  Printed printed{{}, 0, size == 0 ? 1 : size};
  const bool is_plain = size != 0 && !breaks_a_line(code_point);
  for (size_t i = at; i < at + printed.bytes; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    if (is_plain) {
      printed.text[printed.size++] = bytes[i];
      continue;
    }
    for (const char c : {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]}) printed.text[printed.size++] = c;
  }
  return printed;
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
  std::string out;
  out.reserve(bytes.size());
  for (size_t at = 0; at < bytes.size();) {
    const Printed printed = print_at(bytes, at);
    out.append(printed.text, printed.size);
    at += printed.bytes;
  }
  return out;
}

void write_printable(std::string_view bytes, char* buffer, size_t capacity) noexcept {
  constexpr std::string_view kGap = " ... ";
  size_t total = 0;
  for (size_t at = 0; at < bytes.size();) {
    const Printed printed = print_at(bytes, at);
    total += printed.size;
    at += printed.bytes;
  }
  const size_t room = capacity - 1, half = (room - kGap.size()) / 2;
  size_t written = 0, seen = 0;  // bytes of the buffer, and of the whole printed form
  bool is_before_gap = true;
  for (size_t at = 0; at < bytes.size();) {
    const Printed printed = print_at(bytes, at);
    at += printed.bytes;
    if (total > room && is_before_gap && written + printed.size > half) {
      is_before_gap = false;
      written += kGap.copy(buffer + written, kGap.size());
    }
    if (total <= room || is_before_gap || total - seen <= half) {
      std::memcpy(buffer + written, printed.text, printed.size);
      written += printed.size;
    }
    seen += printed.size;
  }
  buffer[written] = '\0';
}

std::string printable_name(std::string_view bytes) {
  constexpr size_t kShown = 100;
  if (bytes.size() <= kShown) return printable(bytes);
  size_t size = kShown;
  while (size > kShown - 4 && (static_cast<unsigned char>(bytes[size]) & 0xC0) == 0x80) --size;
  return printable(bytes.substr(0, size)) + "...";
}

}  // namespace troika
