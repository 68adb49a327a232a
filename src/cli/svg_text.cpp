// Writes text elements of SVG.
#include "cli/svg_text.h"

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

}  // namespace troika::cli
