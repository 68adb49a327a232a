// UTF-8: whether text is valid, and a form of any bytes that prints on one line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troika {

// Returns the place of the first byte that breaks UTF-8, std::string_view::npos if there is none.
size_t find_invalid_utf8(std::string_view bytes);

// Returns the text with control characters, line separators and bytes that are not UTF-8 as \xNN.
std::string printable(std::string_view bytes);

// Writes printable(bytes) to a buffer of `capacity` bytes, NUL-terminated, and never allocates.
// Text that is too long loses its middle, so that the reason at the end of a message stays.
void write_printable(std::string_view bytes, char* buffer, size_t capacity) noexcept;

// printable(), cut to about 100 bytes: names in messages, which must leave room for the reason.
std::string printable_name(std::string_view bytes);

}  // namespace troika
