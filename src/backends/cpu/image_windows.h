// The windows of an image that the pixels of another image read in a convolution, as rows of a
// matrix ("im2col"). Images are bf16 with channels last.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/split.h"
#include "ops/window.h"

namespace troika::cpu {

using Bf16Bits = uint16_t;

// Pixel q of an axis reads the image at q * step + offset, for each offset.
struct WindowAxis {
  int64_t pixels, step;
  std::vector<int64_t> offsets;
};

struct ImageWindows {
  WindowAxis rows, columns;
  int64_t height, width, channels;  // of the image

  int64_t pixels() const { return rows.pixels * columns.pixels; }  // of a sample
  int64_t length() const {                                         // of a window
    return static_cast<int64_t>(rows.offsets.size() * columns.offsets.size()) * channels;
  }
  // Whether each window is one pixel, in order: then the image is the matrix.
  bool is_image() const;
  // Cuts samples so that the windows of a piece stay in the third cache; an image is one piece.
  // Pieces depend on sizes alone, never on the number of threads.
  std::vector<Range> pieces(int64_t samples) const;
  // Copies the windows of samples to [pixels][rows' offsets, columns' offsets, channels], by the
  // team. Numbers outside of the image are 0.
  void copy(const Bf16Bits* image, const Range& samples, Bf16Bits* windows) const;
};

// Returns the windows of x that the pixels of y read.
ImageWindows windows_of_x(const Window& window, const Shape& x, const Shape& y);

// Pixels of dx that have the same remainder by the stride: they read the same taps of the weights,
// in windows of dy.
struct GradientPart {
  ImageWindows windows;
  std::array<int64_t, 2> first;  // row and column; the next follow after a stride
  std::vector<int64_t> taps;     // row * kernel width + column; none: the gradient is 0
};

std::vector<GradientPart> parts_of_dx(const Window& window, const Shape& dx, const Shape& dy);

}  // namespace troika::cpu
