// The step of one rank, unrolled: micro-batch behind micro-batch, stage by stage, in the order of a schedule.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "parallel/pipeline_schedule.h"

namespace troika {

// The whole network for one micro-batch: forward nodes, then, when training, backward ones.
struct StepPart {
  Graph graph;
  size_t forward_nodes = 0;
  std::vector<int> stages;  // of each node; empty: all in stage 0
};

// The orders of one rank that has all layers: each part forward and backward before the next.
std::vector<PipelineAction> in_turn(size_t parts);

// What rank `position` of a pipeline of `positions` does, whose actions are given; stage s lies on position s % positions.
//
// State is one for all parts; of several, samples and targets become "x/0", "x/1" ...; outputs come part by part.
// Gradients are added in pairs, then pairs of pairs, as ranks add theirs: (g0 + g1) + (g2 + g3). What depends on parameters
// alone is computed once. A value that another position reads is sent there as soon as it is made, and received before it is
// first read; messages are numbered alike on every position.
Graph unroll(const std::vector<StepPart>& parts, const std::vector<PipelineAction>& actions, int position = 0,
             int positions = 1);

}  // namespace troika
