// Cutting a model into stages by cost.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/graph.h"

namespace troika {

// The first layers of stages 1, 2 ...; `layer_of` has the layer of each node, at least as many as there are stages. The costliest
// stage takes hardly longer than it must, by the operations and bytes of layers and the bytes that cross a cut; within that the
// fullest keeps least activations, of as many micro-batches as one forward, one backward gives it; within that least is sent.
std::vector<size_t> cut_by_cost(const Graph& model, const std::vector<size_t>& layer_of, size_t stages);

}  // namespace troika
