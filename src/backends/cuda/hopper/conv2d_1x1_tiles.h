// Pixels of convolutions with a filter of 1x1, in tiles of as many as a kernel has room for.
#pragma once

#include <climits>
#include <cstddef>

#include "backends/cuda/convolution.h"
#include "backends/cuda/hopper/conv2d_tiles.h"

namespace troika::cuda::hopper {

// Whether it is 1x1 with the plainest settings and numbers that the kernels count with.
inline bool is_plain_1x1(const Convolution& v) {
  constexpr int64_t kMostChannels = 2048, kMostPixels = INT_MAX / (kMostChannels / 8);  // bytes of masks are counted
  const auto are_channels = [](int64_t n) { return n % kTileChannels == 0 && n <= kMostChannels; };
  for (int axis = 0; axis < 2; ++axis)
    if (v.kernel[axis] != 1 || v.padding[axis] != 0 || v.stride[axis] != v.stride[0] || v.stride[0] > 2 ||
        v.y_size[axis] != (v.x_size[axis] - 1) / v.stride[axis] + 1)
      return false;
  return v.groups == 1 && are_channels(v.c) && are_channels(v.k) && v.pixels() <= kMostPixels;
}

// The pixels of a tile. The next tile begins so many rows and images further on in x.
struct PixelTile {
  int64_t pixels, rows, images;
};

// A tile of at most `most` pixels of y. With stride 2 a tile is whole rows, if the rows of all
// images are evenly apart, and whole images otherwise. If they have no room, it has no pixels.
inline PixelTile pixel_tile(const Convolution& v, int64_t most) {
  if (v.stride[0] == 1) return {most, most, 0};
  const int64_t row = v.y_size[1], image = row * v.y_size[0];
  if (v.x_size[0] % 2 == 0) return {most / row * row, most / row, 0};
  return {most / image * image, 0, most / image};
}

// Pixels [pixels, channels], in boxes of so many.
inline CUtensorMap map_of_stored(const void* address, int64_t pixels, int64_t channels, int64_t box) {
  const int64_t pixel = 2 * channels;
  return map_of(address, {{channels, 2, kTileChannels}, {1, pixel, 1}, {pixels, pixel, box}, {1, pixel, 1}});
}
inline CUtensorMap map_of_pixels(const void* address, const Convolution& v, int64_t channels, int64_t box) {
  return map_of_stored(address, v.pixels(), channels, box);
}

// The pixels of x that a convolution reads, in boxes of a tile. With stride 2, other pixels are so
// many rows and columns further on: 0 or 1.
inline CUtensorMap map_of_x(const void* x, const Convolution& v, const PixelTile& tile, int64_t from_row = 0,
                            int64_t from_column = 0) {
  if (v.stride[0] == 1) return map_of_pixels(x, v, v.c, tile.pixels);
  const int64_t pixel = 2 * v.c, row = pixel * v.x_size[1];
  const void* const first = static_cast<const std::byte*>(x) + from_row * row + from_column * pixel;
  const int64_t rows = (v.x_size[0] - from_row + 1) / 2, columns = (v.x_size[1] - from_column + 1) / 2;
  const Axis channels = {v.c, 2, kTileChannels}, of_row = {columns, 2 * pixel, v.y_size[1]};
  if (tile.images == 0) return map_of(first, {channels, of_row, {v.n * rows, 2 * row, tile.rows}, {1, pixel, 1}});
  return map_of(first, {channels, of_row, {rows, 2 * row, v.y_size[0]}, {v.n, v.x_size[0] * row, tile.images}});
}

}  // namespace troika::cuda::hopper
