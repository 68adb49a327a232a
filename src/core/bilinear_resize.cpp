// Tables of taps, and the resize in two passes: along each needed input row, then between two rows.
#include "core/bilinear_resize.h"

#include <algorithm>

namespace troika {

BilinearResize::BilinearResize(int64_t in_height, int64_t in_width, int64_t out_height, int64_t out_width)
    : in_width_(in_width), rows_(make_taps(in_height, out_height)), columns_(make_taps(in_width, out_width)) {}

// Output pixel i has its centre at (i + 0.5) * in / out - 0.5, clamped to the image.
std::vector<BilinearResize::Tap> BilinearResize::make_taps(int64_t in_size, int64_t out_size) {
  const float scale = static_cast<float>(in_size) / static_cast<float>(out_size);
  std::vector<Tap> taps;
  taps.reserve(static_cast<size_t>(out_size));
  for (int64_t i = 0; i < out_size; ++i) {
    const float centre = std::max(scale * (static_cast<float>(i) + 0.5f) - 0.5f, 0.0f);
    const int64_t low = std::min(static_cast<int64_t>(centre), in_size - 1);
    const float weight = std::min(centre - static_cast<float>(low), 1.0f);
    taps.push_back({low, std::min(low + 1, in_size - 1), 1.0f - weight, weight});
  }
  return taps;
}

void BilinearResize::resize(const uint8_t* pixels, const float* value_of_pixel, float* out) const {
  constexpr int64_t kStrip = 512;  // columns at a time, so that the rows in between need no allocation
  const int64_t out_width = static_cast<int64_t>(columns_.size());
  for (int64_t begin = 0; begin < out_width; begin += kStrip) {
    const int64_t width = std::min(kStrip, out_width - begin);
    const Tap* const columns = columns_.data() + begin;
    // The input rows that are resized along themselves already. Row r is in slot r mod 2, so two
    // neighbours fit.
    float strips[2][kStrip];
    int64_t held[2] = {-1, -1};
    const auto strip_of = [&](int64_t row) -> const float* {
      float* const strip = strips[row % 2];
      if (held[row % 2] != row) {
        held[row % 2] = row;
        const uint8_t* const line = pixels + row * in_width_;
        for (int64_t i = 0; i < width; ++i) {
          const Tap& tap = columns[i];
          strip[i] = tap.low_weight * value_of_pixel[line[tap.low]] + tap.high_weight * value_of_pixel[line[tap.high]];
        }
      }
      return strip;
    };
    for (size_t r = 0; r < rows_.size(); ++r) {
      const Tap& tap = rows_[r];
      const float* const low = strip_of(tap.low);
      const float* const high = strip_of(tap.high);
      float* const line = out + static_cast<int64_t>(r) * out_width + begin;
      for (int64_t i = 0; i < width; ++i) line[i] = tap.low_weight * low[i] + tap.high_weight * high[i];
    }
  }
}

}  // namespace troika
