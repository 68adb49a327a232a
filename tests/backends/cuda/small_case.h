// A convolution with stride and dilation 1 and one group, on a GPU with these limits.
#pragma once

#include <array>
#include <ostream>

#include "backends/cuda/small_conv2d.h"

namespace troika::cuda {

struct SmallCase {
  DType dtype;
  int64_t n, c, k;
  std::array<int64_t, 2> size, kernel, padding;
  int multiprocessors = 3;          // so few that a block has several images
  size_t shared_bytes = 163 << 10;  // what each GPU of these capabilities but the smallest has

  SmallConv2dLimits limits() const { return {multiprocessors, shared_bytes}; }
  Convolution convolution() const {
    return {.n = n,
            .c = c,
            .k = k,
            .groups = 1,
            .x_size = {size[0], size[1]},
            .y_size = {size[0] + 2 * padding[0] - kernel[0] + 1, size[1] + 2 * padding[1] - kernel[1] + 1},
            .kernel = {kernel[0], kernel[1]},
            .stride = {1, 1},
            .padding = {padding[0], padding[1]},
            .dilation = {1, 1}};
  }
};

// As the name of a test: letters, digits and underscores.
inline std::ostream& operator<<(std::ostream& out, const SmallCase& c) {
  const auto pair = [&](const std::array<int64_t, 2>& p) -> std::ostream& { return out << p[0] << 'x' << p[1]; };
  out << name_of(c.dtype) << '_' << c.n << 'x' << c.c << 'x';
  pair(c.size) << "_to_" << c.k << "_kernel_";
  pair(c.kernel) << "_padding_";
  return pair(c.padding) << "_on_" << c.multiprocessors << '_' << (c.shared_bytes >> 10);
}

}  // namespace troika::cuda
