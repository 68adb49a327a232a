// Winograd's F(4x4, 3x3): tiles of 4x4 outputs from 6x6 inputs, transformed to 36 points at which
// channels multiply as matrices.
//
// Lavin and Gray, "Fast algorithms for convolutional neural networks" (2016). 36 products per tile
// replace 144 of the direct sum. Polynomials are evaluated at 0, +-5/8, +-3/2 and infinity; the
// usual 0, +-1, +-2 round 2.5 times worse. Sums over 32 channels have a relative error of 5.7e-7,
// direct ones of 2.9e-7.
#pragma once

#include <cstdint>

#include "core/split.h"

namespace troika::cpu::winograd {

constexpr int64_t kSlice = 16;   // channels that are transformed together
constexpr int64_t kGroup = 66;   // tiles that are multiplied together: a multiple of the rows that registers hold
constexpr int64_t kPoints = 36;  // of a 6x6 tile
constexpr int64_t kTaps = 9;     // of a window
constexpr int64_t kSlab = 4;     // slices of weights that are transformed together

// A group of tiles at one point is [66][16], a slab of weights [64][16], a block of weights
// [16][16]. A row more between points keeps those of one tile out of each other's cache sets.
constexpr int64_t kTilesPoint = (kGroup + 1) * kSlice;
constexpr int64_t kSlabPoint = (kSlab * kSlice + 1) * kSlice;
constexpr int64_t kBlockPoint = (kSlice + 1) * kSlice;

// An image [n, channels, height, width] in blocks of 8 or 16 channels, cut into tiles. Tile (r, c)
// of a sample begins at pixel (4 r - top, 4 c - left). Pixels outside the image count as 0.
struct TiledImage {
  int64_t channels, height, width, block;
  int64_t tile_rows, tile_columns;  // of a sample
  int64_t top, left;

  int64_t slices() const { return channels / kSlice; }
};

// One slice of `tiles`, at most a group: to v of inputs; to z of gradients of outputs, which add up
// to sums [16]; and from products m to outputs.
void transform_input(const TiledImage& image, const float* x, int64_t slice, Range tiles, float* v);
void transform_output_gradient(const TiledImage& image, const float* dy, int64_t slice, Range tiles, float* z,
                               float* sums);
void transform_output(const TiledImage& image, const float* m, int64_t slice, Range tiles, const float* bias, bool relu,
                      float* y);

// A block of weights [9][16 in][16 out] to its rows u of a slab; and from sums s of products at 36
// points to its gradient.
void transform_weights(const float* weight, float* u);
void transform_weight_gradient(const float* s, float* dweight);
// Returns the weights of the convolution that computes input gradients: channels exchanged, windows
// rotated by half a turn.
void rotate_weights(const float* weight, float* rotated);

// Computes m [tiles][16] (+)= v [tiles][16 slices] * u [16 slices][16] at one point. Slices of v
// are 36 points apart. Rows of m after `tiles`, up to the group's end, may change.
void multiply(const float* v, int64_t tiles, int64_t slices, const float* u, float* m, bool is_first);
// At one point: s [16][16] += v [tiles][16], transposed, * z [tiles][16].
void accumulate(const float* v, const float* z, int64_t tiles, float* s);

}  // namespace troika::cpu::winograd
