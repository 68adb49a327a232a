// Convolutions of floats and their gradients, computed as matrix products.
#pragma once

#include <cstdint>
#include <vector>

namespace emulated_gpu {

// x is [n, h, w, c], the weights are [k, kernel[0], kernel[1], c / groups], y is [n, h, w, k], all
// dense.
struct ConvolutionSize {
  int64_t n, c, k, groups;
  int64_t x[2], y[2];  // height, width
  int64_t kernel[2], stride[2], padding[2], dilation[2];

  int64_t taps() const { return kernel[0] * kernel[1]; }
  int64_t pixels() const { return n * y[0] * y[1]; }  // of y
  int64_t x_elements() const { return n * x[0] * x[1] * c; }
  int64_t y_elements() const { return pixels() * k; }
  int64_t weight_elements() const { return k * taps() * (c / groups); }
};

// `block`: see multiply_add().
std::vector<float> convolve(const ConvolutionSize& size, const std::vector<float>& x, const std::vector<float>& weights,
                            int64_t block);
std::vector<float> input_gradient(const ConvolutionSize& size, const std::vector<float>& weights,
                                  const std::vector<float>& dy, int64_t block);
std::vector<float> weight_gradient(const ConvolutionSize& size, const std::vector<float>& x,
                                   const std::vector<float>& dy, int64_t block);

}  // namespace emulated_gpu
