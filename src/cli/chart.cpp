// Draws line charts as SVG text.
#include "cli/chart.h"

#include <algorithm>
#include <cmath>

#include "cli/line_width.h"
#include "cli/svg_text.h"
#include "cli/text.h"

namespace troika::cli {
namespace {

constexpr double kWidth = 720, kHeight = 460;
constexpr double kLeft = 72, kRight = 24, kBottom = 64;
constexpr double kTitleAt = 32, kNoteAt = 56, kLegendRow = 20;  // baselines, and the height of a row
// Widths of a character are those of a wide font. Text that still does not fit is squeezed.
constexpr double kTitleCharacter = 11, kCharacter = 7.6;
constexpr double kKey = 26, kGap = 16;  // a line in a series' colour before its name; between two names
constexpr size_t kMarkersUpTo = 40;     // with more points than these, only a line
constexpr const char* kColors[] = {"#2563eb", "#e0622b", "#15803d", "#7c3aed",
                                   "#be185d", "#0e7490", "#a16207", "#4b5563"};

bool is_drawn(const std::pair<double, double>& point) {
  return std::isfinite(point.first) && std::isfinite(point.second);
}

// The smallest and largest drawn coordinate.
struct Range {
  double low = INFINITY, high = -INFINITY;

  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool is_empty() const { return low > high; }
};

// One axis: its ticks, and the place of a value on the paper.
struct Axis {
  std::vector<double> ticks;
  double low, high, begin, end;
  int decimals = 0;  // decimals that distinguish two ticks

  Axis(Range range, int count, double paper_begin, double paper_end, bool is_counted)
      : begin(paper_begin), end(paper_end) {
    if (range.is_empty()) range = {0, 1};
    if (range.low == range.high) range = {range.low - 0.5, range.high + 0.5};
    ticks = nice_ticks(range.low, range.high, count);
    decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(ticks[1] - ticks[0]) - 1e-9)));
    if (is_counted) {  // epochs: whole numbers, and no margin
      std::erase_if(ticks, [&](double t) { return t != std::floor(t) || t < range.low || t > range.high; });
      low = range.low, high = range.high;
    } else {
      low = ticks.front(), high = ticks.back();
    }
  }

  double at(double value) const { return begin + (value - low) / (high - low) * (end - begin); }
};

std::string draw_axes(const Chart& chart, const Axis& x, const Axis& y) {
  std::string out;
  for (double tick : y.ticks) {
    out += formatted("  <line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#e5e7eb\"/>\n", x.begin,
                     y.at(tick), x.end, y.at(tick));
    out += text_at(x.begin - 10, y.at(tick) + 4, "end", "class=\"tick\"", formatted("%.*f", y.decimals, tick));
  }
  for (double tick : x.ticks) {
    out += formatted("  <line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#e5e7eb\"/>\n", x.at(tick),
                     y.end, x.at(tick), y.begin);
    out += text_at(x.at(tick), y.begin + 20, "middle", "class=\"tick\"", formatted("%.6g", tick));
  }
  out += formatted("  <path d=\"M%.1f %.1f V%.1f H%.1f\" fill=\"none\" stroke=\"#6b7280\" stroke-width=\"1.2\"/>\n",
                   x.begin, y.end, y.begin, x.end);
  out += text_at((x.begin + x.end) / 2, kHeight - 18, "middle", "class=\"label\"", chart.x_label);
  out +=
      formatted("  <text x=\"18\" y=\"%.1f\" text-anchor=\"middle\" class=\"label\" transform=\"rotate(-90 18 %.1f)\">",
                (y.begin + y.end) / 2, (y.begin + y.end) / 2) +
      escaped(chart.y_label) + "</text>\n";
  return out;
}

std::string draw_series(const Series& series, const char* color, const Axis& x, const Axis& y) {
  std::string path, markers;
  bool is_open = false;  // the point before was drawn
  for (const auto& point : series.points) {
    if (!is_drawn(point)) {
      is_open = false;
      continue;
    }
    const double px = x.at(point.first), py = y.at(point.second);
    path += formatted("%s%.1f %.1f", is_open ? " L" : (path.empty() ? "M" : " M"), px, py);
    if (series.points.size() <= kMarkersUpTo)
      markers += formatted("  <circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", px, py, color);
    is_open = true;
  }
  if (path.empty()) return {};
  return formatted(
             "  <path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2.2\" stroke-linejoin=\"round\" "
             "stroke-linecap=\"round\"/>\n",
             path.c_str(), color) +
         markers;
}

// A name of the legend, and its place.
struct LegendEntry {
  double x = 0, y = 0, room = 0;
};

// Places the names at the right of the note, or if there is no room in rows of their own. `bottom`
// becomes the lowest baseline.
std::vector<LegendEntry> place_legend(const Chart& chart, double& bottom) {
  const double whole = kWidth - kLeft - kRight;
  std::vector<double> widths;
  double sum = 0;
  for (const Series& series : chart.series) {
    widths.push_back(std::min(whole, kKey + kCharacter * width_of(series.name)));
    sum += widths.back() + kGap;
  }
  const double next_to_note = whole - kCharacter * width_of(chart.note) - (chart.note.empty() ? 0 : kGap);
  double x = kLeft, y = kNoteAt;
  if (sum - kGap <= next_to_note)
    x = kWidth - kRight - sum + kGap;
  else if (!chart.note.empty())
    y += kLegendRow;
  std::vector<LegendEntry> places;
  for (const double width : widths) {
    if (x + width > kWidth - kRight + 0.5) x = kLeft, y += kLegendRow;
    places.push_back({x, y, width - kKey});
    x += width + kGap;
  }
  bottom = y;
  return places;
}

// Draws names after lines in their colours.
std::string draw_legend(const Chart& chart, const std::vector<LegendEntry>& places) {
  std::string out;
  for (size_t i = 0; i < places.size(); ++i) {
    const LegendEntry& at = places[i];
    out += formatted(
        "  <line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"3\" "
        "stroke-linecap=\"round\"/>\n",
        at.x, at.y - 4, at.x + 18, at.y - 4, kColors[i % std::size(kColors)]);
    out += text_within(at.x + kKey, at.y, at.room, kCharacter, "class=\"legend\"", chart.series[i].name);
  }
  return out;
}

std::string draw_title(const Chart& chart) {
  const double room = kWidth - kLeft - kRight;
  const auto fits = [&](const std::string& title) { return kTitleCharacter * width_of(title) <= room; };
  const auto title = std::find_if(chart.titles.begin(), chart.titles.end(), fits);
  if (chart.titles.empty()) return {};
  return text_within(kLeft, kTitleAt, room, kTitleCharacter, "class=\"title\"",
                     title == chart.titles.end() ? chart.titles.back() : *title) +
         text_within(kLeft, kNoteAt, room, kCharacter, "class=\"label\"", chart.note);
}

// Widens the range of y, within the limits of the chart.
Range spread(Range range, const Chart& chart) {
  if (range.is_empty() || range.high - range.low >= chart.least_span) return range;
  const double middle = (range.low + range.high) / 2;
  const double low = std::clamp(middle - chart.least_span / 2, chart.lowest, chart.highest - chart.least_span);
  return {low, low + chart.least_span};
}

}  // namespace

std::vector<double> nice_ticks(double low, double high, int count) {
  const double raw = (high - low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw * (1 - 1e-9)) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> ticks;
  const auto first = static_cast<int64_t>(std::floor(low / step + 1e-9));
  const auto last = static_cast<int64_t>(std::ceil(high / step - 1e-9));
  for (int64_t i = first; i <= last; ++i) ticks.push_back(static_cast<double>(i) * step);
  return ticks;
}

std::string render_svg(const Chart& chart) {
  Range x_range, y_range;
  for (const Series& series : chart.series) {
    for (const auto& point : series.points) {
      if (!is_drawn(point)) continue;
      x_range.include(point.first);
      y_range.include(point.second);
    }
  }
  double legend_bottom = 0;
  const std::vector<LegendEntry> legend = place_legend(chart, legend_bottom);
  const Axis x(x_range, 10, kLeft, kWidth - kRight, true);
  const Axis y(spread(y_range, chart), 6, kHeight - kBottom, legend_bottom + 18, false);
  std::string out = formatted(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
      "font-family=\"Helvetica, Arial, sans-serif\">\n"
      "  <style>.title{font-size:17px;font-weight:600;fill:#111827}.label{font-size:13px;fill:#374151}"
      ".tick{font-size:12px;fill:#6b7280}.legend{font-size:13px;fill:#111827}</style>\n"
      "  <rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
      kWidth, kHeight, kWidth, kHeight);
  out += draw_title(chart);
  out += draw_axes(chart, x, y);
  for (size_t i = 0; i < chart.series.size(); ++i)
    out += draw_series(chart.series[i], kColors[i % std::size(kColors)], x, y);
  out += draw_legend(chart, legend);
  return out + "</svg>\n";
}

}  // namespace troika::cli
