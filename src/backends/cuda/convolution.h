// A 2-d convolution in numbers, for cuDNN and for own kernels alike.
#pragma once

#include <cstdint>
#include <optional>

#include "ops/fused_pool.h"
#include "ops/window.h"

namespace troika::cuda {

// x is [n, c, h, w], the weights are [k, c / groups, kernel[0], kernel[1]], y is [n, k, y_size[0],
// y_size[1]]; all are stored channels last. y may be smaller than x would allow: then its last rows
// and columns are not needed.
struct Convolution {
  int64_t n, c, k, groups;
  int64_t x_size[2], y_size[2];  // height, width
  int64_t kernel[2], stride[2], padding[2], dilation[2];

  // If the node pools y, `y` is the pooled shape, and y_size that before.
  static Convolution of(const Node& node, const Shape& x, const Shape& y) {
    const Window w = Window::of(node);
    const int64_t size = fused_pool_of(node) == FusedPool::none ? 1 : kFusedPoolSize;
    return {.n = x[0],
            .c = x[1],
            .k = y[1],
            .groups = node.attributes.integer("groups"),
            .x_size = {x[2], x[3]},
            .y_size = {size * y[2], size * y[3]},
            .kernel = {w.kernel[0], w.kernel[1]},
            .stride = {w.stride[0], w.stride[1]},
            .padding = {w.padding[0], w.padding[1]},
            .dilation = {w.dilation[0], w.dilation[1]}};
  }

  int64_t taps() const { return kernel[0] * kernel[1]; }
  int64_t pixels() const { return n * y_size[0] * y_size[1]; }  // of y
  int64_t x_elements() const { return n * c * x_size[0] * x_size[1]; }
  int64_t y_elements() const { return pixels() * k; }
  int64_t weight_elements() const { return k * (c / groups) * taps(); }
};

// The part of x that the windows of y cover, and the zeros after it: {size, padding} of one axis.
struct Reach {
  int64_t size, padding;
};

// Returns nothing if no part of x, however small, makes y with these paddings.
inline std::optional<Reach> reach_of(const Convolution& v, int axis) {
  const int64_t span = v.dilation[axis] * (v.kernel[axis] - 1) + 1, before = v.padding[axis];
  auto gives_y = [&](Reach r) {
    const int64_t room = r.size + before + r.padding - span;
    return r.size > 0 && room >= 0 && room / v.stride[axis] + 1 == v.y_size[axis];
  };
  const int64_t needed = (v.y_size[axis] - 1) * v.stride[axis] + span - before;  // rows from the first of x on
  const int64_t whole = v.x_size[axis];
  // The most common form that fits: the same padding on both sides, none after, some after, a part
  // of x.
  for (const Reach r : {Reach{whole, before}, Reach{whole, 0}, Reach{whole, needed - whole}, Reach{needed, 0}})
    if (r.padding >= 0 && r.size <= whole && gives_y(r)) return r;
  return std::nullopt;
}

}  // namespace troika::cuda
