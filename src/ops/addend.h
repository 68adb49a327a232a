// Another gradient, which batch_norm2d_gradient and conv2d_input_gradient add on their way. It may
// be stored without the zeros between the pixels of a stride (passes/close_gaps.cpp).
#pragma once

#include "graph/graph.h"

namespace troika {

// The addend has the rows and columns whose numbers are multiples of this. The others are zero.
inline int64_t addend_stride_of(const Node& node) {
  return node.attributes.has("addend_stride") ? node.attributes.integer("addend_stride") : 1;
}

// The addend's type, from that of the image [n, c, h, w] that it is added to.
inline TensorType addend_type(TensorType image, int64_t stride) {
  for (int axis : {2, 3}) image.shape[axis] = (image.shape[axis] - 1) / stride + 1;
  return image;
}

}  // namespace troika
