// Draws a model from its description as JSON.
#include "cli/model_drawing.h"

#include <algorithm>
#include <cmath>

#include "cli/drawn_layers.h"
#include "cli/line_width.h"
#include "cli/model_layout.h"
#include "cli/svg_text.h"
#include "cli/text.h"

namespace troika::cli {
namespace {

constexpr double kMargin = 24, kTop = 84, kWidestPicture = 1200;
constexpr double kLeastBox = 190, kWidestBox = 460, kInset = 12;  // widths of boxes; text within a box
constexpr double kLine = 18;                                      // of text
constexpr double kColumnGap = 36, kLaneWidth = 12, kRowGap = 30, kTrack = 8;
constexpr double kBlockPadding = 9, kCorner = 5, kArrow = 7;
constexpr double kTitleCharacter = 11, kNameCharacter = 8.2, kCharacter = 7.6;

constexpr const char* kStyle =
    "  <style>.title{font-size:17px;font-weight:600;fill:#111827}.label{font-size:13px;fill:#374151}"
    ".name{font-size:13px;font-weight:600;fill:#111827}.kind{font-size:13px;fill:#6b7280}"
    ".edge{fill:none;stroke:#6b7280;stroke-width:1.4;marker-end:url(#arrow)}</style>\n";
constexpr const char* kArrowHead =
    "  <defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" "
    "markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0 L8 4 L0 8 Z\" fill=\"#6b7280\"/></marker></defs>\n";

struct Point {
  double x = 0, y = 0;
};

// Returns the path of a line with round corners.
std::string path_through(const std::vector<Point>& points) {
  std::string out = formatted("M%.1f %.1f", points[0].x, points[0].y);
  for (size_t i = 1; i + 1 < points.size(); ++i) {
    const Point &a = points[i - 1], &b = points[i], &c = points[i + 1];
    // The point on the way from b to another point at which the corner begins or ends.
    const auto near = [&b](const Point& to) {
      const double x = to.x - b.x, y = to.y - b.y, length = std::abs(x) + std::abs(y);  // one of them is 0
      const double share = length > 0 ? std::min(kCorner, length / 2) / length : 0;
      return Point{b.x + x * share, b.y + y * share};
    };
    const Point from = near(a), to = near(c);
    out += formatted(" L%.1f %.1f Q%.1f %.1f %.1f %.1f", from.x, from.y, b.x, b.y, to.x, to.y);
  }
  return out + formatted(" L%.1f %.1f", points.back().x, points.back().y);
}

double height_of(const DrawnLayer& layer) { return kInset + (layer.settings.empty() ? 2 : 3) * kLine; }

double width_of_box(const DrawnLayer& layer) {
  const double title = kNameCharacter * width_of(layer.name) + kCharacter * width_of(layer.kind);
  const double rest =
      kCharacter * std::max(width_of(layer.settings), width_of(layer.shape) + width_of(layer.parameters));
  return std::clamp(std::max(title, rest) + 4 * kInset, kLeastBox, kWidestBox);
}

class Drawing {
 public:
  explicit Drawing(DrawnModel model) : model_(std::move(model)), layers_(model_.layers) {
    std::vector<std::vector<size_t>> inputs;
    for (const DrawnLayer& layer : layers_) inputs.push_back(layer.inputs);
    places_ = lay_out(inputs);
    place_columns();
    place_rows();
  }

  std::string text() const {
    const double title = std::min(kTitleCharacter * width_of(model_.name), kWidestPicture - 2 * kMargin);
    const double width = std::max({right_, kMargin + title, kMargin + kCharacter * width_of(model_.note)}) + kMargin;
    const double scale = std::min(1.0, kWidestPicture / width);
    std::string out = formatted(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
        "font-family=\"Helvetica, Arial, sans-serif\">\n",
        width, bottom_, width * scale, bottom_ * scale);
    out += kStyle;
    out += kArrowHead;
    out += "  <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
    out += text_within(kMargin, 36, width - 2 * kMargin, kTitleCharacter, "class=\"title\"", model_.name);
    out += text_at(kMargin, 58, "start", "class=\"label\"", model_.note);
    out += blocks();
    for (size_t i = 0; i < layers_.size(); ++i)
      for (size_t k = 0; k < layers_[i].inputs.size(); ++k) out += edge(layers_[i].inputs[k], i, k);
    for (size_t i = 0; i < layers_.size(); ++i) out += box(i);
    return out + "</svg>\n";
  }

 private:
  const LayerPlace& at(size_t layer) const { return places_.places[layer]; }
  double left(size_t layer) const { return columns_[at(layer).column].x; }
  double width(size_t layer) const { return columns_[at(layer).column].width; }
  double middle(size_t layer) const { return left(layer) + width(layer) / 2; }
  double top(size_t layer) const { return rows_[at(layer).row]; }

  // Columns are as wide as their widest box; one of lanes alone is narrow.
  void place_columns() {
    columns_.resize(places_.columns);
    for (size_t i = 0; i < layers_.size(); ++i) {
      double& width = columns_[at(i).column].width;
      width = std::max(width, width_of_box(layers_[i]));
    }
    right_ = kMargin;
    bool is_after_lane = false;
    for (Column& column : columns_) {
      const bool is_lane = column.width == 0;
      if (is_after_lane && !is_lane) right_ += kColumnGap / 2;
      column.x = right_;
      right_ += is_lane ? kLaneWidth : column.width + kColumnGap;
      is_after_lane = is_lane;
    }
  }

  // Whether input k of a layer is not drawn from the middle of the box above.
  bool comes_from_the_side(size_t layer, size_t k) const {
    const std::vector<size_t>& inputs = layers_[layer].inputs;
    return k != static_cast<size_t>(std::find(inputs.begin(), inputs.end(), at(layer).main) - inputs.begin());
  }

  // Between two rows, each line that runs sideways has a height of its own: first those that leave
  // the boxes above, then those that reach the boxes below.
  void place_rows() {
    std::vector<double> heights(places_.rows, 0);
    std::vector<int> leaving(places_.rows + 1, 0), reaching(places_.rows + 1, 0);
    leaves_.assign(layers_.size(), -1), reaches_.assign(layers_.size(), -1);
    for (size_t i = 0; i < layers_.size(); ++i) {
      const size_t row = at(i).row, main = at(i).main;
      heights[row] = std::max(heights[row], height_of(layers_[i]));
      if (main != kNone && at(main).heir != i && leaves_[main] < 0) leaves_[main] = leaving[row]++;
      if (layers_[i].inputs.size() > 1) reaches_[i] = reaching[row]++;
    }
    for (size_t i = 0; i < layers_.size(); ++i)
      if (at(i).lane != kNone && leaves_[i] < 0) leaves_[i] = leaving[at(i).row + 1]++;
    double y = kTop;
    for (size_t row = 0; row < places_.rows; ++row) {
      if (row > 0) y += kRowGap + kTrack * (leaving[row] + reaching[row]);
      rows_.push_back(y);
      y += heights[row];
      bottoms_.push_back(y);
    }
    bottom_ = y + kMargin;
  }

  std::string edge(size_t from, size_t to, size_t input) const {
    std::vector<Point> points{{middle(from), top(from) + height_of(layers_[from])}};
    const double leaving = bottoms_[at(from).row] + kBlockPadding + kTrack * std::max(leaves_[from], 0);
    const double reaching = top(to) - kBlockPadding - kArrow - kTrack * std::max(reaches_[to], 0);
    double x = middle(from);
    if (!comes_from_the_side(to, input)) {
      if (at(from).heir != to) points.insert(points.end(), {{x, leaving}, {middle(to), leaving}});
      points.push_back({middle(to), top(to)});
    } else {
      if (at(from).lane != kNone && at(to).row > at(from).row + 1) {
        x = columns_[at(from).lane].x + kLaneWidth / 2;
        points.insert(points.end(), {{middle(from), leaving}, {x, leaving}});
      }
      const double entry = middle(to) + (x < left(to) ? -1 : 1) * width(to) / 4;
      points.insert(points.end(), {{x, reaching}, {entry, reaching}, {entry, top(to)}});
    }
    return formatted("  <path class=\"edge\" d=\"%s\"><title>", path_through(points).c_str()) +
           escaped(layers_[from].name + " to " + layers_[to].name) + "</title></path>\n";
  }

  // Returns a light ground for each block: layers in a row whose names begin alike.
  std::string blocks() const {
    std::string out;
    for (const auto& [begin, end] : blocks_of(layers_)) {
      double x = 1e300, y = 1e300, right = 0, bottom = 0;
      for (size_t i = begin; i < end; ++i) {
        x = std::min(x, left(i)), y = std::min(y, top(i));
        right = std::max(right, left(i) + width(i)), bottom = std::max(bottom, top(i) + height_of(layers_[i]));
      }
      out += formatted(
          "  <rect class=\"block\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"8\" fill=\"#f3f4f6\"/>\n",
          x - kBlockPadding, y - kBlockPadding, right - x + 2 * kBlockPadding, bottom - y + 2 * kBlockPadding);
    }
    return out;
  }

  const char* color(const DrawnLayer& layer) const {
    if (layer.inputs.empty() || layer.kind.empty()) return "#15803d";  // the model's ends
    if (layer.inputs.size() > 1) return "#e0622b";
    return layer.parameters.empty() ? "#6b7280" : "#2563eb";
  }

  std::string box(size_t index) const {
    const DrawnLayer& layer = layers_[index];
    const double x = left(index) + kInset, y = top(index), end = left(index) + width(index) - kInset;
    std::string out = formatted(
        "  <rect class=\"layer\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"4\" fill=\"#ffffff\" "
        "stroke=\"%s\" stroke-width=\"1.4\"/>\n",
        left(index), y, width(index), height_of(layer), color(layer));
    const double room = end - x, names = room - kInset - kCharacter * width_of(layer.kind);
    out += text_within(x, y + kLine + 1, names, kNameCharacter, "class=\"name\"", layer.name);
    out += text_at(end, y + kLine + 1, "end", "class=\"kind\"", layer.kind);
    if (!layer.settings.empty())
      out += text_within(x, y + 2 * kLine + 1, room, kCharacter, "class=\"label\"", layer.settings);
    const double last = y + height_of(layer) - kInset + 1;
    out += text_at(x, last, "start", "class=\"label\"", layer.shape);
    return layer.parameters.empty() ? out : out + text_at(end, last, "end", "class=\"label\"", layer.parameters);
  }

  const DrawnModel model_;
  const std::vector<DrawnLayer>& layers_;
  ModelLayout places_;
  struct Column {
    double x = 0, width = 0;
  };
  std::vector<Column> columns_;
  std::vector<double> rows_, bottoms_;
  std::vector<int> leaves_, reaches_;
  double right_ = 0, bottom_ = 0;
};

}  // namespace

std::string draw_model(const Model& model) { return Drawing(read_model(model)).text(); }

}  // namespace troika::cli
