// Convolutions that the tests of Hopper's kernels compute.
#pragma once

#include <ostream>
#include <random>
#include <vector>

#include "backends/cuda/hopper/conv2d.h"
#include "core/float16.h"
#include "kernel_test.h"

namespace troika::cuda {

inline std::vector<uint16_t> random_bf16(size_t count, std::mt19937_64& lot) {
  std::vector<uint16_t> values(count);
  std::normal_distribution<float> normal;
  for (uint16_t& v : values) v = bf16_of_float(normal(lot));
  return values;
}

// 3x3, stride 1, padding 1, everything channels last.
inline Convolution same_size(int64_t n, int64_t channels, int64_t size) {
  return {.n = n,
          .c = channels,
          .k = channels,
          .groups = 1,
          .x_size = {size, size},
          .y_size = {size, size},
          .kernel = {3, 3},
          .stride = {1, 1},
          .padding = {1, 1},
          .dilation = {1, 1}};
}

// 3x3, 64 channels to 128, to half of the size.
inline Convolution halving(int64_t n, int64_t size) {
  Convolution v = same_size(n, 64, size);
  v.k = 128;
  v.y_size[0] = v.y_size[1] = size / 2;
  v.stride[0] = v.stride[1] = 2;
  return v;
}

// 1x1, without padding.
inline Convolution one_by_one(int64_t n, int64_t c, int64_t k, int64_t height, int64_t width, int64_t stride = 1) {
  return {.n = n,
          .c = c,
          .k = k,
          .groups = 1,
          .x_size = {height, width},
          .y_size = {(height - 1) / stride + 1, (width - 1) / stride + 1},
          .kernel = {1, 1},
          .stride = {stride, stride},
          .padding = {0, 0},
          .dilation = {1, 1}};
}

// Calls f(pixel of x, tap, pixel of y), of one image, for each pair that a tap joins.
template <typename F>
void for_each_pair(const Convolution& v, F f) {
  for (int64_t h = 0; h < v.y_size[0]; ++h)
    for (int64_t w = 0; w < v.y_size[1]; ++w)
      for (int64_t tap = 0; tap < v.taps(); ++tap) {
        const int64_t from_h = h * v.stride[0] + tap / v.kernel[1] - v.padding[0],
                      from_w = w * v.stride[1] + tap % v.kernel[1] - v.padding[1];
        if (from_h >= 0 && from_h < v.x_size[0] && from_w >= 0 && from_w < v.x_size[1])
          f(from_h * v.x_size[1] + from_w, tap, h * v.y_size[1] + w);
      }
}

inline std::vector<float> to_floats(const std::vector<uint16_t>& bits) {
  std::vector<float> values;
  values.reserve(bits.size());
  for (uint16_t b : bits) values.push_back(float_of_bf16(b));
  return values;
}

struct Case {
  Convolution v;
  int multiprocessors = 5;  // so few that a block has several tiles
};

inline std::ostream& operator<<(std::ostream& out, const Case& c) {
  const Convolution& v = c.v;
  return out << v.n << "x" << v.c << "x" << v.x_size[0] << "x" << v.x_size[1] << "_to_" << v.k << "x" << v.y_size[0]
             << "_by_" << v.kernel[0] << "_on_" << c.multiprocessors;
}

class HopperTest : public KernelTest<Case, 90, 90> {
 protected:
  const Convolution v_ = GetParam().v;
};

}  // namespace troika::cuda
