// A window of 2 x 2 pixels that a convolution's kernel pools, and its gradient: the same numbers as
// those of pool2d.cu.
#pragma once

#include "backends/cuda/elements.cuh"
#include "backends/cuda/fused_pool.h"

namespace troika::cuda {

constexpr int kWindowPixels = kFusedPoolSize * kFusedPoolSize;

struct PooledWindow {
  float value = 0;
  unsigned mask = 0;

  // `pixels` are rounded as they would be stored; those of a ReLU, if `relu`.
  __device__ PooledWindow(const float (&pixels)[kWindowPixels], FusedPool kind, bool relu) {
    const auto passes = [&](float pixel) { return !(relu && pixel <= 0); };  // as NaN does
    if (kind == FusedPool::average) {
#pragma unroll
      for (int i = 0; i < kWindowPixels; ++i) {
        value += pixels[i];
        mask |= passes(pixels[i]) ? 1u << i : 0;
      }
      value *= 1.0f / kWindowPixels;
      return;
    }
    // Among equal numbers the first counts, among NaNs the last, as in PyTorch.
    value = -INFINITY;
    mask = 1;
#pragma unroll
    for (int i = 0; i < kWindowPixels; ++i)
      if (pixels[i] > value || pixels[i] != pixels[i]) value = pixels[i], mask = 1u << i;
    if (!passes(value)) mask = 0;
  }
};

// The places of a window's channels in the pooled images.
struct PooledPlaces {
  int64_t first;
  int apart = 1;

  // window: of all images.
  static __device__ PooledPlaces of(int window, int channels) { return {int64_t{window} * channels}; }
  // The same if images are stored plain. The window is in image `image`.
  static __device__ PooledPlaces plain(int window, int image, int windows_of_image, int channels) {
    return {window + int64_t{image} * windows_of_image * (channels - 1), windows_of_image};
  }
  __device__ int64_t of_channel(int channel) const { return first + int64_t{channel} * apart; }
};

// Stores two neighbouring channels of a window from `channel` on, or one. `place`: of the first in
// the mask. `is_aligned`: to two.
template <typename T>
__device__ inline void store_windows(T* y, const PooledPlaces& places, int channel, uint8_t* mask, int64_t place,
                                     const PooledWindow& low, const PooledWindow& high, bool has_both,
                                     bool is_aligned) {
  if (has_both && is_aligned && places.apart == 1) {
    reinterpret_cast<Pack<T, 2>*>(y)[place / 2] = {from_float<T>(low.value), from_float<T>(high.value)};
    reinterpret_cast<Pack<uint8_t, 2>*>(mask)[place / 2] = {static_cast<uint8_t>(low.mask),
                                                            static_cast<uint8_t>(high.mask)};
    return;
  }
  y[places.of_channel(channel)] = from_float<T>(low.value);
  mask[place] = static_cast<uint8_t>(low.mask);
  if (!has_both) return;
  y[places.of_channel(channel + 1)] = from_float<T>(high.value);
  mask[place + 1] = static_cast<uint8_t>(high.mask);
}

// The gradient of pixel `i` of a window with gradient dy. A maximum's -0 becomes 0, as in
// pool2d.cu's sum.
__device__ inline float pixel_gradient(float dy, unsigned mask, int i, FusedPool kind) {
  const float pixel = kind == FusedPool::average ? dy * (1.0f / kWindowPixels) : 0.0f + dy;
  return mask >> i & 1 ? pixel : 0.0f;
}

// Four lanes, `kApart` from each other, swap numbers: lane `e` of them gets what lane j has as v[e]
// as its v[j].
template <unsigned kApart, typename T>
__device__ inline void transpose(T (&v)[4], unsigned e) {
#pragma unroll
  for (int bit = 1; bit <= 2; bit *= 2)
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int low = bit == 1 ? 2 * i : i, high = low + bit;
      const bool is_high = (e & static_cast<unsigned>(bit)) != 0;
      const T swapped = __shfl_xor_sync(0xffffffffu, is_high ? v[low] : v[high], static_cast<int>(kApart) * bit);
      (is_high ? v[low] : v[high]) = swapped;
    }
}

}  // namespace troika::cuda
