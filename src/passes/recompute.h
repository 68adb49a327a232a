// Recompute, the field's gradient checkpointing (Chen et al. 2016): the forward pass drops results that only backward
// still reads, and they are computed again right before it does.
#pragma once

#include "passes/passes.h"

namespace troika {

// What a trainer is asked for. Segments and layers add up.
struct RecomputeSettings {
  int64_t segments = 0;             // of the forward pass, of which only what crosses into a later one is kept; 0: none
  std::vector<std::string> layers;  // patterns of names of layers whose outputs are dropped
  int64_t budget_bytes = 0;         // of activations: the trainer chooses what to drop, the others are empty; 0: none

  bool is_on() const { return segments > 0 || !layers.empty() || budget_bytes > 0; }
};

// By value: whether it is dropped behind its last reader in the forward pass.
using Dropped = std::vector<bool>;

// Cuts the forward pass into at most `segments` of about equal bytes, at places that few bytes cross, and drops what does
// not cross. The last segment is kept: backward begins with it, so that dropping it would save nothing.
Dropped drop_segments(const Graph& graph, int64_t segments);

// Drops the outputs of the layers that a pattern matches, but for OpDef::kept_outputs. NOT_FOUND where a pattern matches none.
Dropped drop_layers(const Graph& graph, const std::vector<std::string>& patterns);

// Drops what cheap ops (batch_norm2d, relu, pooling, dropout, casts) make of one value that is there anyway: no product
// is computed again.
Dropped drop_cheap(const Graph& graph);

// Takes a graph behind autodiff. Before the first backward node that reads a dropped value, copies of all forward nodes
// that it takes to make it again from what is kept; they give the same bits. The copies are made once, and later readers
// take theirs. State moves once, with the node itself: running statistics are absent in batch_norm2d's copy.
void recompute(Graph& graph, const Dropped& dropped);

}  // namespace troika
