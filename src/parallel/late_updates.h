// Late updates: each step updates a parameter by the gradients of the step before, directly before
// the parameter is read. So sums of gradients go on while the next forward pass runs.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace troika {

// Moves updates, and all nodes on which only updates depend, before the first node that reads what
// they change. They get the attribute `late`: they read gradients of the step before. Sums of
// buckets get it too, and start in the order given, as early as that order allows. `order` has
// every bucket once. To be run after all passes that move readers of parameters. INTERNAL if
// something else reads the sums: gradients that are conditioned are needed in their own step.
void delay_updates(Graph& graph, const std::vector<size_t>& order);

}  // namespace troika
