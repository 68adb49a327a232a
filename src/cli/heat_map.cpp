// Draws tables of counts as SVG text.
#include "cli/heat_map.h"

#include <algorithm>

#include "cli/line_width.h"
#include "cli/svg_text.h"
#include "cli/text.h"

namespace troika::cli {
namespace {

constexpr double kLeft = 72, kTop = 72, kRight = 24, kBottom = 56;  // left and top: at least
constexpr double kAxisBottom = 46, kAxisRight = 28;                 // of the names of the axes
constexpr double kMostRoom = 150;                                   // for the name of a class, or else it is squeezed
constexpr double kLargestCell = 48, kSmallestCell = 4, kUsualMap = 480;
constexpr double kLeastForNumbers = 26;  // side of a cell that has room for its count
constexpr int64_t kMostNames = 40;       // classes whose names are at the axes

// White for 0 to dark blue for 1.
std::string color_of(double share) {
  const auto mix = [share](double from, double to) { return static_cast<int>(from + (to - from) * share); };
  return formatted("#%02x%02x%02x", mix(255, 30), mix(255, 64), mix(255, 175));
}

// The names of the classes at both axes, and the places of the cells that follow from their room.
class Names {
 public:
  Names(const HeatMap& map, double cell) : map_(map), cell_(cell), is_large_(cell >= 14) {
    double widest = 0;
    if (map.size <= kMostNames)
      for (const std::string& name : map.names) widest = std::max(widest, width(name));
    const double room = std::min(widest, kMostRoom);
    is_turned_ = widest > 1.1 * cell;
    left_ = std::max(kLeft, kAxisRight + room + 8);
    top_ = is_turned_ ? std::max(kTop, kAxisBottom + 10 + room + 8) : kTop;
  }

  double left() const { return left_; }
  double top() const { return top_; }

  std::string render() const {
    std::string out;
    for (size_t i = 0; i < map_.names.size() && map_.size <= kMostNames; ++i) {
      const std::string& name = map_.names[i];
      const double middle = (static_cast<double>(i) + 0.5) * cell_, x = left_ + middle, y = top_ - 8;
      out += text_at(left_ - 8, top_ + middle + 4, "end", style(name).c_str(), name);
      out += is_turned_
                 ? text_at(x + 4, y, "start",
                           (style(name) + formatted(" transform=\"rotate(-90 %.1f %.1f)\"", x + 4, y)).c_str(), name)
                 : text_at(x, y, "middle", style(name).c_str(), name);
    }
    return out;
  }

 private:
  double width(const std::string& name) const { return (is_large_ ? 7.2 : 4.8) * width_of(name); }

  std::string style(const std::string& name) const {
    const std::string squeezed =
        width(name) > kMostRoom ? formatted(" textLength=\"%.1f\" lengthAdjust=\"spacingAndGlyphs\"", kMostRoom) : "";
    return formatted("font-size=\"%d\" fill=\"#374151\"", is_large_ ? 12 : 8) + squeezed;
  }

  const HeatMap& map_;
  double cell_;
  bool is_large_;
  bool is_turned_ = false;  // names of columns are read from below: a cell has no room for them
  double left_ = 0, top_ = 0;
};

}  // namespace

std::string render_svg(const HeatMap& map) {
  const auto n = static_cast<double>(map.size);
  const double cell = std::clamp(kUsualMap / n, kSmallestCell, kLargestCell);
  const Names names(map, cell);
  const double left = names.left(), top = names.top();
  const double width = std::max(left + n * cell + kRight, 360.0), height = top + n * cell + kBottom;
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
    const double y = top + static_cast<double>(row) * cell;
    for (int64_t column = 0; column < map.size; ++column) {
      const double x = left + static_cast<double>(column) * cell;
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
  out += names.render();
  const char* const label = "font-size=\"13\" fill=\"#374151\"";
  out += text_at(left + n * cell / 2, kAxisBottom, "middle", label, map.column_label);
  const double middle = top + n * cell / 2;
  out += text_at(18, middle, "middle", formatted("%s transform=\"rotate(-90 18 %.1f)\"", label, middle).c_str(),
                 map.row_label);
  return out + "</svg>\n";
}

}  // namespace troika::cli
