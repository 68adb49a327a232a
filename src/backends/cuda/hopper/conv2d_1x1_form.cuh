// How blocks of conv2d_1x1.cu divide a product, by its numbers of channels.
#pragma once

#include <algorithm>

#include "backends/cuda/hopper/conv2d_tiles.h"
#include "backends/cuda/hopper/instructions.cuh"

namespace troika::cuda::hopper {

constexpr int kPixels = 128;                                                                // of a tile, at most
constexpr int kPixelBytes = kPixels * kRowBytes, kWeightBytes = kTileChannels * kRowBytes;  // of boxes
constexpr int kLeastStages = 3, kMostStages = 8, kBarrierBytes = 1024;

// A kernel computes one of these.
enum class Wanted {
  y,
  dx,
  spread_dx  // of stride 2: zeros around each pixel
};

// How two groups divide the work.
enum class Division {
  tiles,     // one has every other tile
  channels,  // each has half of the channels
  pairs      // each has a tile of a pair; weights do not stay, but come with the pixels
};

// A group has kBoxes times 64 output channels, and kPlaces of 16 KB for results.
template <int kBoxes_, int kPlaces_, Division kDivision_>
struct Form {
  static constexpr int kBoxes = kBoxes_, kPlaces = kPlaces_;
  static constexpr Division kDivision = kDivision_;
  static constexpr bool kStreams = kDivision == Division::pairs;
  static constexpr int kAllBoxes = kDivision == Division::channels ? 2 * kBoxes : kBoxes;  // of the block
  static constexpr int kChannels = kAllBoxes * kTileChannels;
  static constexpr int kTiles = kStreams ? 2 : 1;                        // at once
  static constexpr int kReaders = kDivision == Division::tiles ? 1 : 2;  // groups that read a stage
  static constexpr int kChunkBytes = kAllBoxes * kWeightBytes;           // weights of 64 input channels
  static constexpr int kStageBytes = kTiles * kPixelBytes + (kStreams ? kChunkBytes : 0);
  static constexpr int kOutBytes = 2 * kPlaces * kPixelBytes;

  // Bytes of shared memory without the stages.
  static int fixed_bytes(int chunks, Wanted wanted) {
    return (kStreams ? 0 : chunks * kChunkBytes) + kOutBytes + (wanted == Wanted::spread_dx ? kPixelBytes : 0) +
           kBarrierBytes;
  }
  static int stages(int chunks, Wanted wanted) {
    return std::min((kMostSharedBytes - fixed_bytes(chunks, wanted)) / kStageBytes, kMostStages);
  }
  // A group that takes half of the channels reads all chunks of a tile before the other begins.
  static bool has_room(int64_t in_channels, Wanted wanted) {
    const auto chunks = static_cast<int>(in_channels / kTileChannels);
    return stages(chunks, wanted) >= (kDivision == Division::channels ? chunks : kLeastStages);
  }
};

// Calls run.operator()<F>() with the form for a product from `in` channels to `out`.
template <typename Run>
auto with_form(int64_t in, int64_t out, Wanted wanted, Run&& run) {
  using Roomy = Form<2, 2, Division::channels>;
  using Wide = Form<2, 1, Division::channels>;
  using Medium = Form<2, 1, Division::tiles>;
  using Narrow = Form<1, 1, Division::tiles>;
  if (out % Medium::kChannels != 0) return run.template operator()<Narrow>();
  if (out % Wide::kChannels == 0) {
    if (Roomy::has_room(in, wanted)) return run.template operator()<Roomy>();
    if (Wide::has_room(in, wanted)) return run.template operator()<Wide>();
  }
  if (Medium::has_room(in, wanted)) return run.template operator()<Medium>();
  return run.template operator()<Form<2, 1, Division::pairs>>();
}

// Whether weights from `in` channels to `out` leave room for pixels in shared memory.
inline bool have_room(int64_t in, int64_t out, Wanted wanted) {
  return with_form(in, out, wanted, [&]<typename F>() { return F::has_room(in, wanted); });
}

}  // namespace troika::cuda::hopper
