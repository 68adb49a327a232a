// The results of a batch, summed over the ranks of the world by their groups: no rank reads another
// rank's memory.
#pragma once

#include "graph/graph.h"
#include "ops/op_traits.h"

namespace troika {

// The part of the whole batch's results that a rank contributes.
struct BatchResults {
  // The rank's first loss is loss `first` of `places`, in the order of samples. No places: nothing
  // is summed.
  int64_t first = 0, places = 0;
  bool is_counted = true;     // false: another rank of the channel group has the same losses and counts them
  bool has_losses = true;     // the rank's part of the model has the loss
  int shares = 1, parts = 1;  // sizes of the rank's data group and model group
};

// Replaces the losses and counts that the graph reports by one value for the whole batch, the same
// on every rank. The value is summed over the data groups, in the background, then over the model
// groups.
void insert_batch_results(Graph& graph, const BatchResults& results);

}  // namespace troika
