// The numbers that sum_axes adds up.
#pragma once

#include "graph/graph.h"

namespace troika {

// x as [outer, length, inner]: the sums are over the middle.
struct SumRuns {
  int64_t outer, length, inner;

  SumRuns(const Node& node, const Shape& x)
      : outer(x.elements(0, static_cast<int>(node.attributes.integer("begin")))),
        length(x.elements(static_cast<int>(node.attributes.integer("begin")),
                          static_cast<int>(node.attributes.integer("end")))),
        inner(x.elements(static_cast<int>(node.attributes.integer("end")), x.rank())) {}
};

// Returns the number that multiplies each sum.
inline double factor_of_sum(const Node& node, const Shape& x) {
  const double factor = node.attributes.real("factor");
  return node.attributes.flag("mean") ? factor / static_cast<double>(SumRuns(node, x).length) : factor;
}

}  // namespace troika
