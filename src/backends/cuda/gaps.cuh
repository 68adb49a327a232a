// The pixels of an addend with gaps (ops/addend.h), among all pixels of its images.
#pragma once

#include "backends/cuda/divisor.cuh"

namespace troika::cuda {

// They are in every `stride`-th row and column, and stored in the order of all pixels.
struct Gaps {
  Divisor image, row, stride;  // pixels of an image and of a row
  int rows = 0, columns = 0;   // that are stored

  // With a stride of 1 there are no gaps, and pixels may be more than an int counts.
  Gaps() = default;
  Gaps(int64_t height, int64_t width, int64_t by) {
    if (by == 1) return;
    image = Divisor(static_cast<int>(height * width));
    row = Divisor(static_cast<int>(width));
    stride = Divisor(static_cast<int>(by));
    rows = static_cast<int>((height - 1) / by + 1);
    columns = static_cast<int>((width - 1) / by + 1);
  }

  explicit operator bool() const { return stride.by() > 1; }

  // Returns a pixel's place among the stored ones; below 0: it is not stored.
  __device__ int find(int pixel) const {
    const int number = image.divide(pixel), in_image = pixel - number * image.by();
    const int h = row.divide(in_image), w = in_image - h * row.by();
    const int from_row = stride.divide(h), from_column = stride.divide(w);
    if (from_row * stride.by() != h || from_column * stride.by() != w) return -1;
    return (number * rows + from_row) * columns + from_column;
  }
  // Returns how many stored pixels come before this one.
  __device__ int count_before(int pixel) const {
    const int number = image.divide(pixel), in_image = pixel - number * image.by();
    const int h = row.divide(in_image), w = in_image - h * row.by(), last = stride.by() - 1;
    const int from_row = stride.divide(h + last);
    const int from_column = from_row * stride.by() == h ? stride.divide(w + last) : 0;
    return (number * rows + from_row) * columns + from_column;
  }
};

}  // namespace troika::cuda
