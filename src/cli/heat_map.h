// Tables of counts as SVG: a square per cell, darker the larger its share of the row.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troika::cli {

struct HeatMap {
  std::string title;
  std::string row_label, column_label;
  int64_t size = 0;                // rows, and columns
  std::vector<int64_t> counts;     // [size, size]
  std::vector<std::string> names;  // of rows and columns: [size]
};

// The map as one SVG document.
std::string render_svg(const HeatMap& map);

}  // namespace troika::cli
