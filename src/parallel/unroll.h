// The unrolled step of one rank: one micro-batch after another, stage by stage, in the order of a
// schedule.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "parallel/pipeline_schedule.h"

namespace troika {

// The whole network for one micro-batch: forward nodes, then, if it trains, backward nodes.
struct Network {
  Graph graph;
  size_t forward_nodes = 0;
  std::vector<int> stages;  // of each node; empty: all in stage 0
};

// Returns the order of a rank that has all layers: each micro-batch forward and backward before
// the next.
std::vector<PipelineAction> in_turn(size_t micro_batches);

// Returns the graph of rank `position` in a pipeline of `positions`, with that rank's actions.
// Stage s belongs to position s % positions.
// - All networks share their state. With several networks, samples and targets become "x/0",
//   "x/1" ...; outputs come one micro-batch after another.
// - Gradients are added in pairs, then pairs of pairs, as ranks add theirs: (g0 + g1) + (g2 + g3).
// - Values that depend only on parameters are computed once.
// - A value that another position reads is sent as soon as it is made, and received before its
//   first reader. Messages have the same numbers on every position.
// - If all forwards come before all backwards, the step can pause in between: with `pauses`, there
//   is a pause before the first backward.
Graph unroll(const std::vector<Network>& networks, const std::vector<PipelineAction>& actions, int position = 0,
             int positions = 1, bool pauses = false);

}  // namespace troika
