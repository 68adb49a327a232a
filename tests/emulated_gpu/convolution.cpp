// Convolutions as matrix products, for one chunk of y's pixels at a time. The windows of x that the
// pixels see are copied into rows of a matrix; in the gradient of x such rows are added up.
#include "convolution.h"

#include <algorithm>

#include "matrix_product.h"

namespace emulated_gpu {
namespace {

constexpr int64_t kChunk = 256;  // of pixels

// Calls visit(row, place in x) for each run of c / groups channels of the windows of pixels [first,
// first + count). `row` is the offset of the run in windows [count, taps, c / groups]. Runs in the
// padding are skipped.
template <typename Visit>
void for_each_run(const ConvolutionSize& s, int64_t group, int64_t first, int64_t count, Visit&& visit) {
  const int64_t channels = s.c / s.groups;
  for (int64_t pixel = first; pixel < first + count; ++pixel) {
    const int64_t column = pixel % s.y[1], row = pixel / s.y[1] % s.y[0], image = pixel / (s.y[1] * s.y[0]);
    for (int64_t tap = 0; tap < s.taps(); ++tap) {
      const int64_t i = row * s.stride[0] - s.padding[0] + tap / s.kernel[1] * s.dilation[0];
      const int64_t j = column * s.stride[1] - s.padding[1] + tap % s.kernel[1] * s.dilation[1];
      if (i < 0 || i >= s.x[0] || j < 0 || j >= s.x[1]) continue;
      visit(((pixel - first) * s.taps() + tap) * channels,
            ((image * s.x[0] + i) * s.x[1] + j) * s.c + group * channels);
    }
  }
}

// Calls work(group, first pixel, pixels) for each chunk of each group.
template <typename Work>
void for_each_chunk(const ConvolutionSize& s, Work&& work) {
  for (int64_t group = 0; group < s.groups; ++group)
    for (int64_t first = 0; first < s.pixels(); first += kChunk)
      work(group, first, std::min(kChunk, s.pixels() - first));
}

void gather_windows(const ConvolutionSize& s, const std::vector<float>& x, int64_t group, int64_t first, int64_t count,
                    std::vector<float>& windows) {
  const int64_t channels = s.c / s.groups;
  windows.assign(static_cast<size_t>(count * s.taps() * channels), 0);
  for_each_run(s, group, first, count,
               [&](int64_t row, int64_t place) { std::copy_n(&x[place], channels, &windows[row]); });
}

}  // namespace

std::vector<float> convolve(const ConvolutionSize& s, const std::vector<float>& x, const std::vector<float>& weights,
                            int64_t block) {
  std::vector<float> y(static_cast<size_t>(s.y_elements())), windows;
  const int64_t outputs = s.k / s.groups, products = s.taps() * (s.c / s.groups);
  for_each_chunk(s, [&](int64_t group, int64_t first, int64_t count) {
    gather_windows(s, x, group, first, count, windows);
    multiply_add(count, outputs, products, {windows.data(), products, 1},
                 {&weights[group * outputs * products], 1, products}, &y[first * s.k + group * outputs], s.k, block);
  });
  return y;
}

std::vector<float> input_gradient(const ConvolutionSize& s, const std::vector<float>& weights,
                                  const std::vector<float>& dy, int64_t block) {
  std::vector<float> dx(static_cast<size_t>(s.x_elements())), windows;
  const int64_t channels = s.c / s.groups, outputs = s.k / s.groups, products = s.taps() * channels;
  for_each_chunk(s, [&](int64_t group, int64_t first, int64_t count) {
    windows.assign(static_cast<size_t>(count * products), 0);
    multiply_add(count, products, outputs, {&dy[first * s.k + group * outputs], s.k, 1},
                 {&weights[group * outputs * products], products, 1}, windows.data(), products, block);
    for_each_run(s, group, first, count, [&](int64_t row, int64_t place) {
      for (int64_t c = 0; c < channels; ++c) dx[place + c] += windows[row + c];
    });
  });
  return dx;
}

std::vector<float> weight_gradient(const ConvolutionSize& s, const std::vector<float>& x, const std::vector<float>& dy,
                                   int64_t block) {
  std::vector<float> dw(static_cast<size_t>(s.weight_elements())), windows;
  const int64_t outputs = s.k / s.groups, products = s.taps() * (s.c / s.groups);
  for_each_chunk(s, [&](int64_t group, int64_t first, int64_t count) {
    gather_windows(s, x, group, first, count, windows);
    multiply_add(outputs, products, count, {&dy[first * s.k + group * outputs], 1, s.k}, {windows.data(), products, 1},
                 &dw[group * outputs * products], products, block);
  });
  return dw;
}

}  // namespace emulated_gpu
