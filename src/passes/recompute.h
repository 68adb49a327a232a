// Recompute, in the field's words gradient checkpointing (Chen et al. 2016). The forward pass drops
// results that only the backward pass still reads. They are computed again directly before it reads
// them.
#pragma once

#include "ops/op_def.h"

namespace troika {

// Options of recompute. Segments and layers add up.
struct RecomputeSettings {
  int64_t segments = 0;  // the forward pass keeps only values that cross from one segment into a later one; 0: none
  std::vector<std::string> layers;  // patterns of names of layers whose outputs are dropped
  // of activations; the trainer chooses what to drop, and the other fields are empty; 0: none
  int64_t budget_bytes = 0;

  bool is_on() const { return segments > 0 || !layers.empty() || budget_bytes > 0; }
};

// By value: whether it is dropped after its last reader in the forward pass.
using Dropped = std::vector<bool>;

// Cuts the forward pass into at most `segments` of about equal bytes, at places that few bytes
// cross, and drops the values that do not cross. The last segment is kept: the backward pass begins
// with it, so that dropping it would save nothing.
Dropped drop_segments(const Graph& graph, int64_t segments);

// Drops the outputs of layers that match a pattern, except OpDef::kept_outputs. NOT_FOUND if a
// pattern matches no layer.
Dropped drop_layers(const Graph& graph, const std::vector<std::string>& patterns);

// Drops what cheap ops (batch_norm2d, relu, pooling, dropout, casts) compute from one value that is
// kept anyway. No product is computed again.
Dropped drop_cheap(const Graph& graph);

// Takes a graph after autodiff. Before the first backward node that reads a dropped value, it
// inserts copies of all forward nodes that compute the value from kept values, with the same bits.
// The copies are made once, and later readers use them. State changes once, in the original node:
// running statistics are absent in the copy of batch_norm2d.
void recompute(Graph& graph, const Dropped& dropped);

}  // namespace troika
