// The axis of a value that its channels, features or classes are on.
#pragma once

#include <cstddef>
#include <optional>

#include "graph/graph.h"

namespace troika {

// Axis 1 of an image [batch, channels, h, w] and of [batch, features]; the last axis of a sequence
// [batch, steps, features].
inline int channel_axis(const Shape& shape) { return shape.rank() == 3 ? 2 : 1; }

}  // namespace troika
