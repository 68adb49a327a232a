// batch_norm2d with a ReLU on the input of a convolution, in shared memory: the normalised image is
// never stored.
#pragma once

#include "backends/cuda/hopper/conv2d.h"
#include "backends/cuda/hopper/conv2d_tiles.h"
#include "backends/cuda/hopper/results.cuh"

namespace troika::cuda::hopper {

// A thread normalises the same 8 channels of all its pixels: those of its chunk of 16 bytes.
class NormalizedInput {
 public:
  static constexpr int kChunks = kRowBytes / 16;  // of a pixel of 64 channels

  static constexpr int kTableBytes = 3 * kTileChannels * sizeof(float);

  // Writes a table of the factors to shared memory. All threads of the block call this, before they
  // wait for each other.
  static __device__ void store_table(uint32_t table, const NormalizedRelu& from) {
    const int i = threadIdx.x;
    if (i >= kTileChannels / 4) return;
    const auto four = [&](const float* numbers) { return __ldg(reinterpret_cast<const float4*>(numbers) + i); };
    const float4 mean = four(from.mean), inv_std = four(from.inv_std), weight = four(from.weight),
                 bias = four(from.bias);
    const auto store = [&](int place, float a, float b, float c, float d) {
      store_shared(table + (place * kTileChannels + i * 4) * sizeof(float),
                   {__float_as_uint(a), __float_as_uint(b), __float_as_uint(c), __float_as_uint(d)});
    };
    store(0, mean.x, mean.y, mean.z, mean.w);
    store(1, weight.x * inv_std.x, weight.y * inv_std.y, weight.z * inv_std.z, weight.w * inv_std.w);
    store(2, bias.x, bias.y, bias.z, bias.w);
  }
  // Loads this thread's factors. conv2d_64.cu does so for each tile: registers are short there.
  __device__ void load(uint32_t table) {
    load(mean_, table);
    load(scale_, table + kTileChannels * sizeof(float));
    load(bias_, table + 2 * kTileChannels * sizeof(float));
  }

  // Normalises the pixels from `pixels` on: kLoaded of them, in rows of kPitch. Each row begins
  // left of an image of kSize. The first is row `first_row`, which may be above the image. Padding
  // stays zero. A thread's pixels are kStep apart.
  template <int kSize, int kPitch, int kLoaded, int kStep>
  __device__ void apply(uint32_t pixels, int thread, int first_row) const {
#pragma unroll 4
    for (int pass = 0; pass < (kLoaded + kStep - 1) / kStep; ++pass) {
      const int pixel = thread / kChunks + pass * kStep, row = first_row + pixel / kPitch;
      if (pixel >= kLoaded || pixel % kPitch == 0 || row < 0 || row >= kSize) continue;
      const uint32_t place = pixels + pixel * kRowBytes + (own_chunk() ^ pixel % 8) * 16;
      const uint4 v = load_shared(place);
      store_shared(place, {pair(v.x, 0), pair(v.y, 2), pair(v.z, 4), pair(v.w, 6)});
    }
  }

 private:
  static constexpr int kOwn = 8;
  static __device__ int own_chunk() { return threadIdx.x % kChunks; }
  __device__ float normalized(float x, int i) const {
    const float y = fmaf(x - mean_[i], scale_[i], bias_[i]);
    return y < 0 ? 0 : y;  // NaN stays
  }
  __device__ uint32_t pair(uint32_t x, int i) const {
    return pack_bf16(normalized(low_of(x), i), normalized(high_of(x), i + 1));
  }

  static __device__ void load(float (&to)[kOwn], uint32_t from) {
#pragma unroll
    for (int i = 0; i < kOwn; i += 4) {
      const uint4 v = load_shared(from + (own_chunk() * kOwn + i) * sizeof(float));
      to[i] = __uint_as_float(v.x);
      to[i + 1] = __uint_as_float(v.y);
      to[i + 2] = __uint_as_float(v.z);
      to[i + 3] = __uint_as_float(v.w);
    }
  }

  float mean_[kOwn], scale_[kOwn], bias_[kOwn];
};

}  // namespace troika::cuda::hopper
