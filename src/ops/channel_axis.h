// The axis of a value's channels, features or classes.
#pragma once

#include <cstddef>
#include <optional>

#include "graph/graph.h"

namespace troika {

// Returns 1 for an image [batch, channels, h, w] and for [batch, features], and the last axis for a
// sequence [batch, steps, features].
inline int channel_axis(const Shape& shape) { return shape.rank() == 3 ? 2 : 1; }

}  // namespace troika
