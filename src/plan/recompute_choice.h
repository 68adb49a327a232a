// Chooses the values that a step computes again: those that the options name, or the fewest that
// fit a budget.
#pragma once

#include <functional>

#include "passes/recompute.h"
#include "plan/graph_cost.h"

namespace troika {

// Takes a graph after autodiff. `kept`, by value or empty: values that must not be dropped.
// `bytes_of` returns the bytes of activations that a device needs for a graph after recompute.
// OUT_OF_MEMORY if nothing fits the budget.
Dropped choose_dropped(const Graph& graph, const RecomputeSettings& settings, const std::vector<bool>& kept = {},
                       const std::function<size_t(const Graph&)>& bytes_of = activation_bytes);

// Returns the same choice for the same network with other channels: ranks that meet in sums must
// repeat the same sums.
Dropped carry_over(const Graph& from, const Dropped& dropped, const Graph& to);

}  // namespace troika
