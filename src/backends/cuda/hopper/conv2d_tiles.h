// Shared by the kernels for convolutions: numbers of the 3x3 filter, and tensors as boxes of 64
// channels.
#pragma once

#include <cstddef>

#include "backends/cuda/hopper/tensor_map.h"

namespace troika::cuda::hopper {

constexpr int kTaps = 9;                     // of the filter
constexpr int kTileChannels = 64;            // of a box, and of a product
constexpr int kMostSharedBytes = 227 << 10;  // of a block

constexpr int round_up(int n, int to) { return (n + to - 1) / to * to; }

// Images [n, size, size, channels], in boxes of 64 channels of `rows` rows of `columns` pixels of
// one image.
inline CUtensorMap map_of_images(const void* address, int64_t n, int64_t size, int64_t columns, int64_t rows,
                                 int64_t channels = kTileChannels) {
  const int64_t pixel = 2 * channels;
  return map_of(
      address,
      {{channels, 2, kTileChannels}, {size, pixel, columns}, {size, size * pixel, rows}, {n, size * size * pixel, 1}});
}

// Images [n, size, size, channels], in boxes of 64 channels. The images of a box are its fastest
// axis after the channels: all of them at one position, then all at the next.
struct PositionBox {
  int64_t images, columns, rows;
};
inline CUtensorMap map_of_positions(const void* address, int64_t n, int64_t size, int64_t channels,
                                    const PositionBox& box) {
  const int64_t pixel = 2 * channels;
  return map_of(address, {{channels, 2, kTileChannels},
                          {n, size * size * pixel, box.images},
                          {size, pixel, box.columns},
                          {size, size * pixel, box.rows}});
}

// The four phases of an image of even size, by the parity of rows and columns. A phase has odd rows
// if bit 1 of its number is set, and odd columns if bit 0 is.
constexpr int kPhases = 4;
struct PhaseMaps {
  CUtensorMap of[kPhases];
};

// Returns their descriptions, which `map_of_phase(address of its first pixel, phase)` makes.
template <typename MapOfPhase>
PhaseMaps phases_of(const void* image, int64_t row_bytes, int64_t pixel_bytes, MapOfPhase map_of_phase) {
  PhaseMaps maps;
  for (int phase = 0; phase < kPhases; ++phase)
    maps.of[phase] =
        map_of_phase(static_cast<const std::byte*>(image) + phase / 2 * row_bytes + phase % 2 * pixel_bytes, phase);
  return maps;
}

// A filter [k, 9, c], in boxes of one tap of 64 channels by 64.
inline CUtensorMap map_of_filter(const void* address, int64_t k, int64_t c) {
  return map_of(address, {{c, 2, kTileChannels}, {kTaps, 2 * c, 1}, {k, 2 * c * kTaps, kTileChannels}});
}

}  // namespace troika::cuda::hopper
