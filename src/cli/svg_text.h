// Text in SVG documents.
#pragma once

#include <string>

namespace troika::cli {

// Returns a text element. `anchor` is "start", "middle" or "end"; `style` has further attributes.
std::string text_at(double x, double y, const char* anchor, const char* style, const std::string& text);

// Returns a text element that begins at x and is never wider than `room`: longer text is squeezed.
// `character` is the width of a character.
std::string text_within(double x, double y, double room, double character, const char* style, const std::string& text);

// Returns text with the characters of markup replaced.
std::string escaped(const std::string& text);

}  // namespace troika::cli
