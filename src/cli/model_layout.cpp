// Places layers in rows and columns: each chain of layers, and each line around layers, takes the
// first column that is free in its rows.
#include "cli/model_layout.h"

#include <algorithm>
#include <map>

namespace troika::cli {
namespace {

// A chain of layers from `layer` on, or the lane of `layer`, with the rows that it needs.
struct Strip {
  size_t layer = 0;
  bool is_lane = false;
  size_t begin = 0, end = 0;  // rows, `end` included
  size_t length = 0;          // layers of a chain
};

// Whether `to` reads `from` by a line that crosses rows in between.
bool is_far(const ModelLayout& layout, size_t from, size_t to) {
  return layout.places[to].row > layout.places[from].row + 1;
}

void place_in_rows(const std::vector<std::vector<size_t>>& inputs, ModelLayout& layout) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    LayerPlace& place = layout.places[i];
    for (const size_t input : inputs[i]) {
      if (place.main != kNone && layout.places[input].row < place.row) continue;
      place.main = input;
      place.row = layout.places[input].row + 1;
    }
    layout.rows = std::max(layout.rows, place.row + 1);
  }
}

// A layer's heir is its reader with the longest way to the end.
void choose_heirs(ModelLayout& layout) {
  std::vector<size_t> depths(layout.places.size(), 0);
  for (size_t i = layout.places.size(); i-- > 0;) {
    const size_t main = layout.places[i].main;
    if (main == kNone) continue;
    size_t& heir = layout.places[main].heir;
    if (heir != kNone && depths[heir] > depths[i]) continue;
    heir = i;
    depths[main] = depths[i] + 1;
  }
}

// Returns for each layer the last row that its lines cross: its own if no reader is far.
std::vector<size_t> last_rows(const std::vector<std::vector<size_t>>& inputs, const ModelLayout& layout) {
  std::vector<size_t> rows;
  for (const LayerPlace& place : layout.places) rows.push_back(place.row);
  for (size_t i = 0; i < inputs.size(); ++i)
    for (const size_t input : inputs[i])
      if (is_far(layout, input, i)) rows[input] = std::max(rows[input], layout.places[i].row - 1);
  return rows;
}

std::vector<Strip> strips_of(const std::vector<std::vector<size_t>>& inputs, const ModelLayout& layout) {
  const std::vector<LayerPlace>& places = layout.places;
  const std::vector<size_t> last = last_rows(inputs, layout);
  std::vector<Strip> strips;
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i].heir != kNone && last[i] > places[i].row) strips.push_back({i, true, places[i].row + 1, last[i], 0});
    if (places[i].main != kNone && places[places[i].main].heir == i) continue;  // not the first of a chain
    size_t end = i, length = 1;
    for (; places[end].heir != kNone; ++length) end = places[end].heir;
    strips.push_back({i, false, places[i].row, last[end], length});
  }
  return strips;
}

// Returns whether rows [begin, end] are free in a column, which maps first rows to last rows.
bool is_free(const std::map<size_t, size_t>& column, size_t begin, size_t end) {
  const auto after = column.upper_bound(end);
  return after == column.begin() || std::prev(after)->second < begin;
}

}  // namespace

ModelLayout lay_out(const std::vector<std::vector<size_t>>& inputs) {
  ModelLayout layout;
  layout.places.resize(inputs.size());
  place_in_rows(inputs, layout);
  choose_heirs(layout);
  std::vector<Strip> strips = strips_of(inputs, layout);
  // The longest chain is first, then short strips: a long line goes around a short one.
  const auto longest = std::max_element(strips.begin(), strips.end(),
                                        [](const Strip& a, const Strip& b) { return a.length < b.length; });
  if (longest != strips.end()) std::rotate(strips.begin(), longest, longest + 1);
  if (!strips.empty())
    std::stable_sort(strips.begin() + 1, strips.end(),
                     [](const Strip& a, const Strip& b) { return a.end - a.begin < b.end - b.begin; });
  std::vector<std::map<size_t, size_t>> columns;
  for (const Strip& strip : strips) {
    const size_t end = strip.end + 1;  // one row stays free, so that lines do not meet
    size_t column = 0;
    while (column < columns.size() && !is_free(columns[column], strip.begin, end)) ++column;
    if (column == columns.size()) columns.emplace_back();
    columns[column].emplace(strip.begin, end);
    if (strip.is_lane) layout.places[strip.layer].lane = column;
    for (size_t i = strip.layer; !strip.is_lane && i != kNone; i = layout.places[i].heir)
      layout.places[i].column = column;
  }
  layout.columns = columns.size();
  return layout;
}

}  // namespace troika::cli
