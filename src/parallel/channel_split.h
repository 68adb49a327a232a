// Splitting by channel: each rank of a group has some of the channels or units of each layer.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/split.h"
#include "graph/graph.h"

namespace troika {

// What a rank holds of a parameter or buffer: elements [range) along an axis, all of it (axis -1), or nothing.
struct StateSlice {
  int axis = -1;
  Range range;
  bool is_held = true;
  bool operator==(const StateSlice&) const = default;
};

// The shape that a rank holds.
Shape sliced(const Shape& whole, const StateSlice& slice);

// How a model's layers are split. A convolution or linear layer whose input every rank has whole makes some of its output
// channels on each (by column); one whose input is split reads each rank's channels with its slice of the weight, and the
// ranks add up (by row, Shoeybi et al. 2019): one sum for two layers forward, and one backward. BatchNorm, ReLU, pooling and
// residual sums keep to the channels that they are given; of a sum that they read, each rank takes its channels alone (a
// reduce-scatter; backward an all-gather). What cannot read parts, and the output, takes whole values.
class ChannelSplit {
 public:
  // Throws INVALID_ARGUMENT where a layer has fewer channels than there are ranks.
  ChannelSplit(const Graph& model, int ranks);

  int ranks() const { return static_cast<int>(slices_.size()); }
  const StateSlice& slice_of(const std::string& name, int rank) const;

  // The graph, forward alone, with all of the model's layers (fewer might be placed otherwise) and before any fusion, as `rank`
  // computes it. Ranks meet in channel_sum, channel_scatter and channel_gather.
  Graph apply(const Graph& graph, int rank) const;

 private:
  std::vector<std::map<std::string, StateSlice>> slices_;  // by rank
};

}  // namespace troika
