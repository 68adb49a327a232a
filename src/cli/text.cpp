// Numbers and times as people read them.
#include "cli/text.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace troika::cli {

std::string formatted(const char* format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int size = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::string out(size < 0 ? 0 : static_cast<size_t>(size), '\0');
  std::vsnprintf(out.data(), out.size() + 1, format, again);
  va_end(again);
  return out;
}

std::string with_commas(int64_t number) {
  std::string digits = std::to_string(number);
  const int first = number < 0 ? 1 : 0;
  for (int i = static_cast<int>(digits.size()) - 3; i > first; i -= 3) digits.insert(static_cast<size_t>(i), ",");
  return digits;
}

std::string as_clock(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 3600) return formatted("%lld:%02lld", whole / 60, whole % 60);
  return formatted("%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const size_t at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kMost = 10;
  std::string out = names.front();
  for (size_t i = 1; i < std::min(names.size(), kMost); ++i) out += ", " + names[i];
  return names.size() > kMost ? out + formatted(" and %zu more", names.size() - kMost) : out;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::string as_shape(const int64_t* dims, int rank) {
  std::string out;
  for (int i = 0; i < rank; ++i) out += (i ? "x" : "") + std::to_string(dims[i]);
  return out;
}

}  // namespace troika::cli
