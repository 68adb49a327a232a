// Line charts as SVG: axes with ticks, grid, legend and title.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace troika::cli {

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;  // {x, y}; points that are not finite leave a gap
};

struct Chart {
  std::vector<std::string> titles;  // the first that fits is drawn: from long to short
  std::string note;                 // below the title
  std::string x_label, y_label;
  std::vector<Series> series;
  // The axis of y covers at least so much, within these limits: noise should not fill the picture.
  double least_span = 0, lowest = -1e300, highest = 1e300;
};

// Ticks at 1, 2 or 5 times a power of ten that cover [low, high], about `count` of them.
std::vector<double> nice_ticks(double low, double high, int count);

// The chart as one SVG document.
std::string render_svg(const Chart& chart);

}  // namespace troika::cli
