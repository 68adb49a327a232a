// The name most like another one, for messages about a name that does not exist.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troika {

// Returns the least number of bytes to insert, remove or replace that makes `b` of `a`.
inline size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row[b.size()];
}

// Returns the first of the names with the least distance; null if there is none that agrees with
// half of the name. `name_of` returns an item's name. A long name is compared by its beginning.
template <typename Items, typename NameOf>
const std::string* nearest_name(std::string_view name, const Items& items, NameOf&& name_of) {
  constexpr size_t kCompared = 256;
  const std::string* nearest = nullptr;
  size_t least = SIZE_MAX;
  for (const auto& item : items) {
    const std::string& candidate = name_of(item);
    const size_t distance = edit_distance(name.substr(0, kCompared), candidate);
    if (distance >= least || 2 * distance > std::max(name.size(), candidate.size())) continue;
    least = distance;
    nearest = &candidate;
  }
  return nearest;
}

}  // namespace troika
