// Numbers of any type as a GPU stores them, and the products of a convolution in plain loops.
#pragma once

#include <bit>
#include <cstring>
#include <random>

#include "backends/cuda/convolution.h"
#include "core/float16.h"
#include "kernel_test.h"

namespace troika::cuda {

// Numbers as a GPU stores them.
struct Numbers {
  DType dtype;
  std::vector<uint8_t> bytes;

  static Numbers random(DType dtype, int64_t count, std::mt19937_64& lot) {
    Numbers numbers{dtype, std::vector<uint8_t>(static_cast<size_t>(count) * size_of(dtype))};
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < count; ++i) numbers.set(i, normal(lot));
    return numbers;
  }
  int64_t count() const { return static_cast<int64_t>(bytes.size() / size_of(dtype)); }
  void set(int64_t i, float value) {
    uint8_t* const to = bytes.data() + static_cast<size_t>(i) * size_of(dtype);
    if (dtype == DType::f32) {
      std::memcpy(to, &value, sizeof value);
    } else {
      const uint16_t b = dtype == DType::bf16 ? bf16_of_float(value) : f16_of_float(value);
      std::memcpy(to, &b, sizeof b);
    }
  }
  float at(int64_t i) const {
    const uint8_t* const from = bytes.data() + static_cast<size_t>(i) * size_of(dtype);
    if (dtype == DType::f32) {
      float value = 0;
      std::memcpy(&value, from, sizeof value);
      return value;
    }
    uint16_t b = 0;
    std::memcpy(&b, from, sizeof b);
    return dtype == DType::bf16 ? float_of_bf16(b) : float_of_f16(b);
  }
  // As a factor: f32 is rounded to TF32, ties away from zero.
  double factor(int64_t i) const {
    const float value = at(i);
    if (dtype != DType::f32) return value;
    return std::bit_cast<float>((std::bit_cast<uint32_t>(value) + 0x1000u) & 0xffffe000u);
  }
};

// Calls f(element of x, element of weights, element of y) for each product of the convolution.
template <typename F>
void for_each_product(const Convolution& v, F f) {
  const int64_t taps = v.taps();
  for (int64_t n = 0; n < v.n; ++n)
    for (int64_t h = 0; h < v.y_size[0]; ++h)
      for (int64_t w = 0; w < v.y_size[1]; ++w)
        for (int64_t tap = 0; tap < taps; ++tap) {
          const int64_t row = h + tap / v.kernel[1] - v.padding[0], column = w + tap % v.kernel[1] - v.padding[1];
          if (row < 0 || row >= v.x_size[0] || column < 0 || column >= v.x_size[1]) continue;
          const int64_t x = ((n * v.x_size[0] + row) * v.x_size[1] + column) * v.c;
          const int64_t y = ((n * v.y_size[0] + h) * v.y_size[1] + w) * v.k;
          for (int64_t k = 0; k < v.k; ++k)
            for (int64_t c = 0; c < v.c; ++c) f(x + c, (k * taps + tap) * v.c + c, y + k);
        }
}

// Numbers in the GPU's memory.
struct Held : Memory<uint8_t> {
  Held(const Numbers& numbers, cudaStream_t stream) : Memory<uint8_t>(numbers.bytes.size(), stream) {
    set(numbers.bytes);
  }
};

}  // namespace troika::cuda
