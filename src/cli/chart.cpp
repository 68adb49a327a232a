// Draws line charts as SVG text.
#include "cli/chart.h"

#include <algorithm>
#include <cmath>

#include "cli/text.h"

namespace troika::cli {
namespace {

constexpr double kWidth = 720, kHeight = 440;
constexpr double kLeft = 72, kRight = 24, kTop = 56, kBottom = 64;
constexpr size_t kMarkersUpTo = 40;  // with more points than these, only a line
constexpr const char* kColors[] = {"#2563eb", "#e0622b", "#15803d", "#7c3aed"};

bool is_drawn(const std::pair<double, double>& point) {
  return std::isfinite(point.first) && std::isfinite(point.second);
}

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

std::string text_at(double x, double y, const char* anchor, const char* style, const std::string& text) {
  return formatted("  <text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" %s>", x, y, anchor, style) + escaped(text) +
         "</text>\n";
}

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

// Draws names in their colours, above the plot at the right.
std::string draw_legend(const Chart& chart) {
  std::string out;
  double right = kWidth - kRight;
  for (size_t i = chart.series.size(); i-- > 0;) {
    const char* color = kColors[i % std::size(kColors)];
    const double width = 6.4 * static_cast<double>(chart.series[i].name.size());  // about, at 13 pixels
    out += text_at(right, kTop - 16, "end", "class=\"legend\"", chart.series[i].name);
    right -= width + 8;
    out += formatted(
        "  <line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"3\" "
        "stroke-linecap=\"round\"/>\n",
        right - 18, kTop - 20, right, kTop - 20, color);
    right -= 38;
  }
  return out;
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
  const Axis x(x_range, 10, kLeft, kWidth - kRight, true);
  const Axis y(y_range, 6, kHeight - kBottom, kTop, false);
  std::string out = formatted(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
      "font-family=\"Helvetica, Arial, sans-serif\">\n"
      "  <style>.title{font-size:17px;font-weight:600;fill:#111827}.label{font-size:13px;fill:#374151}"
      ".tick{font-size:12px;fill:#6b7280}.legend{font-size:13px;fill:#111827}</style>\n"
      "  <rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
      kWidth, kHeight, kWidth, kHeight);
  out += text_at(kLeft, kTop - 16, "start", "class=\"title\"", chart.title);
  out += draw_axes(chart, x, y);
  for (size_t i = 0; i < chart.series.size(); ++i)
    out += draw_series(chart.series[i], kColors[i % std::size(kColors)], x, y);
  out += draw_legend(chart);
  return out + "</svg>\n";
}

}  // namespace troika::cli
