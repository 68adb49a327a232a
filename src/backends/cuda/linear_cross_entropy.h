// The last layer of a classifier with few classes and its loss, as one kernel.
#pragma once

#include "graph/graph.h"

namespace troika::cuda {

// Whether the kernel takes a linear layer's x and weight: few classes, whose weights fit into the
// shared memory that every block has.
bool takes_linear_cross_entropy(const TensorType& x, const TensorType& weight);

}  // namespace troika::cuda
