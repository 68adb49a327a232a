// Cuts a model into stages by cost.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/graph.h"

namespace troika {

// Returns the first layers of stages 1, 2 ... `layer_of` has the layer of each node; there are at
// least as many layers as stages. Minimises, in this order:
// 1. the time of the slowest stage, to within 2 %, by the operations and bytes of its layers and
//    the bytes that cross a cut;
// 2. the peak activation memory of any stage under 1F1B;
// 3. the bytes sent between stages.
std::vector<size_t> cut_by_cost(const Graph& model, const std::vector<size_t>& layer_of, size_t stages);

}  // namespace troika
