// The places of a model's layers in a drawing: rows from top to bottom, and a column per branch.
#pragma once

#include <cstddef>
#include <vector>

namespace troika::cli {

constexpr size_t kNone = static_cast<size_t>(-1);

struct LayerPlace {
  size_t row = 0, column = 0;
  size_t main = kNone;  // the input on the longest path; it is in the row above
  size_t heir = kNone;  // the reader in the row below and in the same column
  size_t lane = kNone;  // the column in which a line leads to readers in rows further down
};

struct ModelLayout {
  std::vector<LayerPlace> places;  // one per layer
  size_t rows = 0, columns = 0;
};

// Places layers, each with its inputs, which come before it. A row is the longest path from the
// inputs. No two layers have one place, and no line of a lane crosses a layer.
ModelLayout lay_out(const std::vector<std::vector<size_t>>& inputs);

}  // namespace troika::cli
