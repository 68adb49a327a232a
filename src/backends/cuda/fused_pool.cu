// Passes over an image that a convolution made whole, and over its gradient: a thread has a pack of
// channels of a window. Windows of 2 x 2 pixels cover all rows of all images, which follow each
// other.
#include "backends/cuda/fused_pool.cuh"

#include "backends/cuda/divisor.cuh"
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/grid.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/pack_width.cuh"

namespace troika::cuda {
namespace {

struct WindowNumbers {
  int packs_of_row;               // of an image
  Divisor packs, columns, image;  // image: windows of one

  // The pack of the first pixel of a window, whose pack has this number.
  __device__ int64_t first(int number) const {
    const int window = packs.divide(number), row = columns.divide(window);
    return int64_t{row} * (kFusedPoolSize * packs_of_row) +
           (window - row * columns.by()) * kFusedPoolSize * packs.by() + number - window * packs.by();
  }
  // The place of the same in pooled images that are stored plain. Then a pack is one channel.
  __device__ int64_t plain(int number) const {
    const int window = packs.divide(number);
    return PooledPlaces::plain(window, image.divide(window), image.by(), packs.by())
        .of_channel(number - window * packs.by());
  }
  __device__ int64_t pixel(int i) const {
    return i / kFusedPoolSize * int64_t{packs_of_row} + i % kFusedPoolSize * packs.by();
  }
};

template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    pool_image_kernel(const Pack<T, V>* y, Pack<T, V>* pooled, Pack<uint8_t, V>* mask, FusedPool kind, bool is_plain,
                      bool relu, int64_t count, WindowNumbers numbers) {
  wait_for_kernels_before();
  for (int64_t number = first_index(); number < count; number += index_step()) {
    const Pack<T, V>* const from = y + numbers.first(static_cast<int>(number));
    Pack<T, V> pixels[kWindowPixels], values;
    Pack<uint8_t, V> masks;
#pragma unroll
    for (int i = 0; i < kWindowPixels; ++i) pixels[i] = from[numbers.pixel(i)];
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const PooledWindow window(
          {to_float(pixels[0].v[v]), to_float(pixels[1].v[v]), to_float(pixels[2].v[v]), to_float(pixels[3].v[v])},
          kind, relu);
      values.v[v] = from_float<T>(window.value);
      masks.v[v] = static_cast<uint8_t>(window.mask);
    }
    pooled[is_plain ? numbers.plain(static_cast<int>(number)) : number] = values;
    mask[number] = masks;
  }
}

template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    expand_gradient_kernel(const Pack<T, V>* pooled_dy, const Pack<uint8_t, V>* mask, Pack<T, V>* dy, FusedPool kind,
                           bool is_plain, int64_t count, WindowNumbers numbers) {
  wait_for_kernels_before();
  for (int64_t number = first_index(); number < count; number += index_step()) {
    const Pack<T, V> d = pooled_dy[is_plain ? numbers.plain(static_cast<int>(number)) : number];
    const Pack<uint8_t, V> masks = mask[number];
    Pack<T, V>* const to = dy + numbers.first(static_cast<int>(number));
#pragma unroll
    for (int i = 0; i < kWindowPixels; ++i) {
      Pack<T, V> pixel;
#pragma unroll
      for (int v = 0; v < V; ++v) pixel.v[v] = from_float<T>(pixel_gradient(to_float(d.v[v]), masks.v[v], i, kind));
      to[numbers.pixel(i)] = pixel;
    }
  }
}

// Calls run.operator()<T, V>(packs of the pooled image, their numbers).
template <typename Run>
void with_windows(DType dtype, const Convolution& v, bool is_plain, Run&& run) {
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto with = [&](auto pack) {
      constexpr int kV = decltype(pack)::value;
      const int packs = static_cast<int>(v.k) / kV, columns = static_cast<int>(v.y_size[1]);
      const int64_t windows = v.pixels() / kWindowPixels;
      run.template operator()<T, kV>(windows * packs,
                                     WindowNumbers{packs * columns, Divisor(packs), Divisor(columns / kFusedPoolSize),
                                                   Divisor(static_cast<int>(windows / v.n))});
    };
    if (is_plain) return with(std::integral_constant<int, 1>{});
    with_pack<T>(v.k, with);
  });
}

}  // namespace

void pool_image(DType dtype, const Convolution& v, const Pooling& pooling, bool relu, const void* y, void* pooled,
                cudaStream_t stream) {
  with_windows(dtype, v, pooling.is_plain, [&]<typename T, int V>(int64_t count, const WindowNumbers& numbers) {
    pool_image_kernel<T, V><<<blocks_for(count), kThreads, 0, stream>>>(
        static_cast<const Pack<T, V>*>(y), static_cast<Pack<T, V>*>(pooled),
        reinterpret_cast<Pack<uint8_t, V>*>(pooling.mask), pooling.kind, pooling.is_plain, relu, count, numbers);
  });
}

void expand_gradient(DType dtype, const Convolution& v, const Pooling& pooling, const void* pooled_dy, void* dy,
                     cudaStream_t stream) {
  with_windows(dtype, v, pooling.is_plain, [&]<typename T, int V>(int64_t count, const WindowNumbers& numbers) {
    expand_gradient_kernel<T, V><<<blocks_for(count), kThreads, 0, stream>>>(
        static_cast<const Pack<T, V>*>(pooled_dy), reinterpret_cast<const Pack<uint8_t, V>*>(pooling.mask),
        static_cast<Pack<T, V>*>(dy), pooling.kind, pooling.is_plain, count, numbers);
  });
}

}  // namespace troika::cuda
