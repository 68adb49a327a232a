// Kernels that compute each number from the numbers at the same place, 16 bytes per thread at a
// time.
#pragma once

#include "backends/cuda/early_start.cuh"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/grid.cuh"
#include "backends/cuda/kernels.h"

namespace troika::cuda {

// Elements of which neither type has more than 16 bytes.
template <typename From, typename To>
constexpr int kCommonPack = kPack<From> < kPack<To> ? kPack<From> : kPack<To>;

// y = f(x), element by element; y may be x. Elements that do not fill a pack come last.
template <typename From, typename To, typename F>
__global__ void __launch_bounds__(kThreads) map_kernel(const From* x, To* y, int64_t n, F f) {
  wait_for_kernels_before();
  constexpr int kN = kCommonPack<From, To>;
  const int64_t first = first_index(), step = index_step(), packs = n / kN;
  for (int64_t i = first; i < packs; i += step) {
    const auto a = reinterpret_cast<const Pack<From, kN>*>(x)[i];
    Pack<To, kN> result;
#pragma unroll
    for (int k = 0; k < kN; ++k) result.v[k] = f(a.v[k]);
    reinterpret_cast<Pack<To, kN>*>(y)[i] = result;
  }
  for (int64_t i = packs * kN + first; i < n; i += step) y[i] = f(x[i]);
}

// y = f(a, b), the same way; y may be a or b.
template <typename T, typename F>
__global__ void __launch_bounds__(kThreads) map_pair_kernel(const T* a, const T* b, T* y, int64_t n, F f) {
  wait_for_kernels_before();
  constexpr int kN = kPack<T>;
  const int64_t first = first_index(), step = index_step(), packs = n / kN;
  for (int64_t i = first; i < packs; i += step) {
    const auto p = reinterpret_cast<const Pack<T, kN>*>(a)[i], q = reinterpret_cast<const Pack<T, kN>*>(b)[i];
    Pack<T, kN> result;
#pragma unroll
    for (int k = 0; k < kN; ++k) result.v[k] = f(p.v[k], q.v[k]);
    reinterpret_cast<Pack<T, kN>*>(y)[i] = result;
  }
  for (int64_t i = packs * kN + first; i < n; i += step) y[i] = f(a[i], b[i]);
}

template <typename From, typename To, typename F>
std::unique_ptr<Kernel> make_map(const CudaDevice& device, int64_t n, F f) {
  return make_kernel(device, [n, f](const Arguments& a, cudaStream_t stream) {
    const unsigned blocks = blocks_for(n / kCommonPack<From, To>);
    map_kernel<<<blocks, kThreads, 0, stream>>>(a.in<From>(0), a.out<To>(0), n, f);
  });
}

template <typename T, typename F>
std::unique_ptr<Kernel> make_map_pair(const CudaDevice& device, int64_t n, F f) {
  return make_kernel(device, [n, f](const Arguments& a, cudaStream_t stream) {
    map_pair_kernel<<<blocks_for(n / kPack<T>), kThreads, 0, stream>>>(a.in<T>(0), a.in<T>(1), a.out<T>(0), n, f);
  });
}

}  // namespace troika::cuda
