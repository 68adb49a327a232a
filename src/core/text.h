// Text building: one variadic `text(...)` for messages; lists of names, and names matched by
// wildcard patterns.
#pragma once

#include <cmath>
#include <locale>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace troika {

// A stream that prints numbers in the same way for any locale of the host. It throws if memory runs
// out, and never returns a part of the text.
inline std::ostringstream text_stream() {
  std::ostringstream out;
  out.exceptions(std::ios_base::badbit);
  out.imbue(std::locale::classic());
  return out;
}

// Prints a part of a text. A number that is none has no sign.
template <typename Part>
void print_part(std::ostream& out, const Part& part) {
  if constexpr (std::is_floating_point_v<Part>) {
    if (std::isnan(part)) {
      out << "nan";
      return;
    }
  }
  out << part;
}

// Concatenates the printed forms of its arguments.
template <typename... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out = text_stream();
  (print_part(out, parts), ...);
  return out.str();
}

// Joins the printed forms of `items`: join({1, 2}, ", ") is "1, 2".
template <typename Items>
std::string join(const Items& items, std::string_view separator) {
  std::ostringstream out = text_stream();
  bool first = true;
  for (const auto& item : items) {
    if (!first) out << separator;
    out << item;
    first = false;
  }
  return out.str();
}

// Returns the shortest decimal text that reads back as the same number.
std::string print_number(double value);

// Returns such texts with a space between two of them.
template <typename Number>
std::string print_list(const std::vector<Number>& numbers) {
  std::vector<std::string> words;
  for (Number number : numbers) words.push_back(print_number(static_cast<double>(number)));
  return join(words, " ");
}

// Stores why something failed, or "out of memory" if there is no room for the reason.
inline void store_reason(std::string& to, std::string_view reason) noexcept {
  try {
    to = reason;
  } catch (const std::bad_alloc&) {
    to = "out of memory";
  }
}

// Returns the texts between separators, without spaces at their ends. An empty text has one, which
// is empty.
std::vector<std::string> split_names(std::string_view list, char separator);

// Whether `name` matches `pattern`, in which `*` stands for any run of characters and `?` for one.
bool matches_pattern(std::string_view pattern, std::string_view name);

}  // namespace troika
