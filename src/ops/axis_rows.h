// The rows along one axis, on each of which an op works by itself.
#pragma once

#include "core/text.h"
#include "ops/op_def.h"

namespace troika {

// x as [outer, length, inner]: number i of row (o, j) is at (o * length + i) * inner + j.
struct AxisRows {
  int64_t outer, length, inner;

  AxisRows(const Node& node, const Shape& x) : AxisRows(static_cast<int>(node.attributes.integer("axis")), x) {}
  AxisRows(int axis, const Shape& x)
      : outer(x.elements(0, axis)), length(x[axis]), inner(x.elements(axis + 1, x.rank())) {}
  int64_t rows() const { return outer * inner; }
};

inline void check_axis(const OpInputs& in) {
  const int64_t axis = in.node.attributes.integer("axis");
  if (axis < 0 || axis >= in.shape(0).rank()) in.fail(text("axis is ", axis, ", input has shape ", in.shape(0)));
}

}  // namespace troika
