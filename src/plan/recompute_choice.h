// What a step computes again: as its trainer's options say, or the least that fits a budget.
#pragma once

#include "passes/recompute.h"

namespace troika {

// For a graph behind autodiff. OUT_OF_MEMORY where nothing fits the budget.
Dropped choose_dropped(const Graph& graph, const RecomputeSettings& settings);

}  // namespace troika
