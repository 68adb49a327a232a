// The axis on which the channel ops of a node work.
#pragma once

#include "graph/graph.h"

namespace troika {

// Attribute axis; absent: 1.
inline int axis_of(const Node& node) {
  return node.attributes.has("axis") ? static_cast<int>(node.attributes.integer("axis")) : 1;
}

inline Attributes on_axis(Attributes attributes, int axis) {
  if (axis != 1) attributes.set("axis", int64_t{axis});
  return attributes;
}

}  // namespace troika
