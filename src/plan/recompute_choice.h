// What a step computes again: as its trainer's options say, or the least that fits a budget.
#pragma once

#include <functional>

#include "passes/recompute.h"
#include "plan/graph_cost.h"

namespace troika {

// For a graph behind autodiff. `kept`, by value or empty: what must not be dropped. `bytes_of` tells what activations a device
// needs that runs the graph as recompute has left it. OUT_OF_MEMORY where nothing fits the budget.
Dropped choose_dropped(const Graph& graph, const RecomputeSettings& settings, const std::vector<bool>& kept = {},
                       const std::function<size_t(const Graph&)>& bytes_of = activation_bytes);

// The same choice for the same network with other channels: ranks that meet in sums must repeat the same ones.
Dropped carry_over(const Graph& from, const Dropped& dropped, const Graph& to);

}  // namespace troika
