// Values of linear and of its gradients, as the matrices of the product.
#pragma once

#include "graph/graph.h"

namespace troika {

// Attribute per_position: x has one row per sample and position, not only one per sample.
inline bool is_per_position(const Node& node) { return node.attributes.flag("per_position"); }

// Input, output, or a gradient of either, as [rows, features].
struct LinearRows {
  int64_t rows, features;

  LinearRows(const Node& node, const Shape& shape)
      : rows(is_per_position(node) ? shape.elements(0, shape.rank() - 1) : shape[0]),
        features(shape.elements(is_per_position(node) ? shape.rank() - 1 : 1, shape.rank())) {}
};

}  // namespace troika
