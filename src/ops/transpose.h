// The loops of transpose.
#pragma once

#include "graph/graph.h"

namespace troika {

// The loops over the output, outermost first: `step` is the input's step from one number of the
// loop to the next. Neighbours that stay neighbours are one loop. There is at least one loop.
struct TransposeLoops {
  int count = 0;
  int64_t size[kMaxRank] = {}, step[kMaxRank] = {};
};
TransposeLoops transpose_loops(const Node& node, const Shape& x);

}  // namespace troika
