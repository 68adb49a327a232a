// Copies windows, and computes which windows pixels read.
#include "backends/cpu/image_windows.h"

#include <algorithm>

#include "backends/cpu/threads.h"

namespace troika::cpu {
namespace {

// Copies the pixels of a row of the image that one row of a window has. `row` is null if the row is
// outside of the image.
void copy_taps(const ImageWindows& w, const Bf16Bits* row, int64_t left, Bf16Bits* taps) {
  const std::vector<int64_t>& offsets = w.columns.offsets;
  const auto count = static_cast<int64_t>(offsets.size());
  // Pixels that follow one another are copied at once.
  const int64_t run = count > 0 && offsets.back() - offsets.front() == count - 1 ? count : 1;
  for (int64_t i = 0; i < count; i += run, taps += run * w.channels) {
    const int64_t x = left + offsets[static_cast<size_t>(i)];
    const int64_t begin = row ? std::clamp<int64_t>(-x, 0, run) : run;  // pixels inside: [begin, end)
    const int64_t end = std::clamp<int64_t>(w.width - x, begin, run);
    std::fill_n(taps, begin * w.channels, Bf16Bits{0});
    if (begin < end) std::copy_n(row + (x + begin) * w.channels, (end - begin) * w.channels, taps + begin * w.channels);
    std::fill_n(taps + end * w.channels, (run - end) * w.channels, Bf16Bits{0});
  }
}

void copy_row(const ImageWindows& w, const Bf16Bits* image, int64_t row, Bf16Bits* windows) {
  const int64_t step = static_cast<int64_t>(w.columns.offsets.size()) * w.channels;
  for (int64_t column = 0; column < w.columns.pixels; ++column)
    for (const int64_t offset : w.rows.offsets) {
      const int64_t y = row * w.rows.step + offset;
      const bool is_inside = y >= 0 && y < w.height;
      copy_taps(w, is_inside ? image + y * w.width * w.channels : nullptr, column * w.columns.step, windows);
      windows += step;
    }
}

struct AxisPart {
  WindowAxis axis;
  int64_t first;
  std::vector<int64_t> taps;
};

// Pixel x of dx reads dy at (x + padding - tap * dilation) / stride, for taps that leave no
// remainder.
std::vector<AxisPart> axis_parts(const Window& window, int axis, int64_t size) {
  std::vector<AxisPart> parts;
  const int64_t stride = window.stride[axis];
  for (int64_t first = 0; first < std::min(stride, size); ++first) {
    AxisPart part{{(size - first + stride - 1) / stride, 1, {}}, first, {}};
    for (int64_t tap = 0; tap < window.kernel[axis]; ++tap) {
      const int64_t distance = first + window.padding[axis] - tap * window.dilation[axis];
      if (distance % stride != 0) continue;
      part.axis.offsets.push_back(distance / stride);
      part.taps.push_back(tap);
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace

bool ImageWindows::is_image() const {
  const auto is_whole = [](const WindowAxis& axis, int64_t size) {
    return axis.pixels == size && axis.offsets.size() == 1 && axis.offsets[0] == 0;
  };
  return is_whole(rows, height) && is_whole(columns, width);
}

std::vector<Range> ImageWindows::pieces(int64_t samples) const {
  if (is_image()) return {{0, samples}};
  constexpr int64_t kPieceBytes = 16 << 20;
  const int64_t bytes = samples * pixels() * length() * static_cast<int64_t>(sizeof(Bf16Bits));
  const int64_t count = std::clamp<int64_t>((bytes + kPieceBytes - 1) / kPieceBytes, 1, std::max<int64_t>(samples, 1));
  std::vector<Range> pieces;
  for (int64_t i = 0; i < count; ++i) pieces.push_back(balanced_split(samples, count, i));
  return pieces;
}

void ImageWindows::copy(const Bf16Bits* image, const Range& samples, Bf16Bits* windows) const {
  parallel_for(samples.size() * rows.pixels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      copy_row(*this, image + (samples.begin + i / rows.pixels) * height * width * channels, i % rows.pixels,
               windows + i * columns.pixels * length());
  });
}

ImageWindows windows_of_x(const Window& window, const Shape& x, const Shape& y) {
  const auto axis = [&](int i) {
    WindowAxis a{y[2 + i], window.stride[i], {}};
    for (int64_t tap = 0; tap < window.kernel[i]; ++tap)
      a.offsets.push_back(tap * window.dilation[i] - window.padding[i]);
    return a;
  };
  return {axis(0), axis(1), x[2], x[3], x[1]};
}

std::vector<GradientPart> parts_of_dx(const Window& window, const Shape& dx, const Shape& dy) {
  std::vector<GradientPart> parts;
  for (const AxisPart& rows : axis_parts(window, 0, dx[2]))
    for (const AxisPart& columns : axis_parts(window, 1, dx[3])) {
      GradientPart part{{rows.axis, columns.axis, dy[2], dy[3], dy[1]}, {rows.first, columns.first}, {}};
      for (const int64_t i : rows.taps)
        for (const int64_t j : columns.taps) part.taps.push_back(i * window.kernel[1] + j);
      parts.push_back(std::move(part));
    }
  return parts;
}

}  // namespace troika::cpu
