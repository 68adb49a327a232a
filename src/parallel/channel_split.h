// Splitting by channel: each rank of a group has some of the channels or units of each layer.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/split.h"
#include "graph/graph.h"

namespace troika {

// A rank's part of a parameter or buffer: elements [range) along an axis, all of it (axis -1), or
// nothing.
struct StateSlice {
  int axis = -1;
  Range range;
  bool is_held = true;
  bool operator==(const StateSlice&) const = default;
};

// Returns the shape of a rank's part.
Shape sliced(const Shape& whole, const StateSlice& slice);

// How a model's layers are split.
// - By column: a convolution or linear layer whose input is whole on every rank. Each rank computes
//   some of the output channels.
// - By row (Shoeybi et al. 2019): such a layer whose input is split. Each rank reads its own
//   channels with its slice of the weight, and the ranks add their results. So two layers need one
//   sum forward and one sum backward.
// - BatchNorm, ReLU, pooling and residual sums keep the channels that a rank has. If they read a
//   sum over ranks, each rank takes only its own channels of the sum: a reduce-scatter forward, an
//   all-gather backward.
// - Every other layer, and the output, takes whole values.
class ChannelSplit {
 public:
  // Throws INVALID_ARGUMENT if a layer has fewer channels than there are ranks.
  ChannelSplit(const Graph& model, int ranks);

  int ranks() const { return static_cast<int>(slices_.size()); }
  const StateSlice& slice_of(const std::string& name, int rank) const;

  // Returns the graph as `rank` computes it. The graph is the forward pass before any fusion, with
  // all layers of the model: with fewer layers, values might be placed differently. Ranks meet in
  // channel_sum, channel_scatter and channel_gather.
  Graph apply(const Graph& graph, int rank) const;

 private:
  std::vector<std::map<std::string, StateSlice>> slices_;  // by rank
};

}  // namespace troika
