// What a step computes again: as its trainer's options say, or the least that fits a budget.
#pragma once

#include "passes/recompute.h"

namespace troika {

// The arena that a graph needs by the shapes of its values and by who reads them last. Kernels' scratch and reorders come on
// top; outputs that take over an input's memory save some of it.
size_t activation_bytes(const Graph& graph);

// For a graph behind autodiff. OUT_OF_MEMORY where nothing fits the budget.
Dropped choose_dropped(const Graph& graph, const RecomputeSettings& settings);

}  // namespace troika
