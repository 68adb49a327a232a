// Writes text elements of SVG.
#include "cli/svg_text.h"

#include "cli/line_width.h"
#include "cli/text.h"

namespace troika::cli {

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string text_at(double x, double y, const char* anchor, const char* style, const std::string& text) {
  return formatted("  <text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" %s>", x, y, anchor, style) + escaped(text) +
         "</text>\n";
}

std::string text_within(double x, double y, double room, double character, const char* style, const std::string& text) {
  const double width = character * width_of(text);
  const std::string squeezed =
      width > room ? formatted(" textLength=\"%.1f\" lengthAdjust=\"spacingAndGlyphs\"", room) : "";
  return text_at(x, y, "start", (style + squeezed).c_str(), text);
}

}  // namespace troika::cli
