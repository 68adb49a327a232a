// Draws tables of counts as SVG text.
#include "cli/heat_map.h"

#include <algorithm>

#include "cli/svg_text.h"
#include "cli/text.h"

namespace troika::cli {
namespace {

constexpr double kLeft = 72, kTop = 72, kRight = 24, kBottom = 56;
constexpr double kLargestCell = 48, kSmallestCell = 4, kUsualMap = 480;
constexpr double kLeastForNumbers = 26;  // side of a cell that has room for its count
constexpr int64_t kMostNames = 40;       // classes whose numbers are at the axes

// White for 0 to dark blue for 1.
std::string color_of(double share) {
  const auto mix = [share](double from, double to) { return static_cast<int>(from + (to - from) * share); };
  return formatted("#%02x%02x%02x", mix(255, 30), mix(255, 64), mix(255, 175));
}

}  // namespace

std::string render_svg(const HeatMap& map) {
  const auto n = static_cast<double>(map.size);
  const double cell = std::clamp(kUsualMap / n, kSmallestCell, kLargestCell);
  const double width = std::max(kLeft + n * cell + kRight, 360.0), height = kTop + n * cell + kBottom;
  std::string out = formatted(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
      "font-family=\"sans-serif\">\n"
      "  <rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
      width, height, width, height);
  out += text_at(width / 2, 28, "middle", "font-size=\"16\" font-weight=\"600\" fill=\"#111827\"", map.title);
  for (int64_t row = 0; row < map.size; ++row) {
    const int64_t* const counts = map.counts.data() + row * map.size;
    int64_t sum = 0;
    for (int64_t column = 0; column < map.size; ++column) sum += counts[column];
    const double y = kTop + static_cast<double>(row) * cell;
    for (int64_t column = 0; column < map.size; ++column) {
      const double x = kLeft + static_cast<double>(column) * cell;
      const double share = sum > 0 ? static_cast<double>(counts[column]) / static_cast<double>(sum) : 0;
      out += formatted(
          "  <rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\" stroke=\"#e5e7eb\" "
          "stroke-width=\"0.5\"/>\n",
          x, y, cell, cell, color_of(share).c_str());
      if (cell >= kLeastForNumbers && counts[column] > 0)
        out += text_at(x + cell / 2, y + cell / 2 + 4, "middle",
                       share > 0.5 ? "font-size=\"11\" fill=\"#ffffff\"" : "font-size=\"11\" fill=\"#111827\"",
                       std::to_string(counts[column]));
    }
  }
  for (int64_t i = 0; i < map.size && map.size <= kMostNames; ++i) {
    const double middle = (static_cast<double>(i) + 0.5) * cell;
    const char* const style = cell >= 14 ? "font-size=\"12\" fill=\"#374151\"" : "font-size=\"8\" fill=\"#374151\"";
    out += text_at(kLeft - 8, kTop + middle + 4, "end", style, std::to_string(i));
    out += text_at(kLeft + middle, kTop - 8, "middle", style, std::to_string(i));
  }
  const char* const label = "font-size=\"13\" fill=\"#374151\"";
  out += text_at(kLeft + n * cell / 2, kTop - 26, "middle", label, map.column_label);
  const double middle = kTop + n * cell / 2;
  out += text_at(18, middle, "middle", formatted("%s transform=\"rotate(-90 18 %.1f)\"", label, middle).c_str(),
                 map.row_label);
  return out + "</svg>\n";
}

}  // namespace troika::cli
