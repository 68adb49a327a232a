// Bilinear resize of u8 images in f32, as PyTorch's interpolate(mode="bilinear",
// align_corners=False, antialias=False) has computed it since PyTorch 2, except for the rounding of
// fused multiply-adds.
#pragma once

#include <cstdint>
#include <vector>

namespace troika {

class BilinearResize {
 public:
  BilinearResize(int64_t in_height, int64_t in_width, int64_t out_height, int64_t out_width);

  // Resizes `pixels` [in_height, in_width] to `out` [out_height, out_width]. Pixel p has the value
  // `value_of_pixel[p]`.
  void resize(const uint8_t* pixels, const float* value_of_pixel, float* out) const;

 private:
  // One output coordinate is low_weight * input[low] + high_weight * input[high].
  struct Tap {
    int64_t low, high;
    float low_weight, high_weight;
  };
  static std::vector<Tap> make_taps(int64_t in_size, int64_t out_size);

  int64_t in_width_;
  std::vector<Tap> rows_;     // [out_height]
  std::vector<Tap> columns_;  // [out_width]
};

}  // namespace troika
