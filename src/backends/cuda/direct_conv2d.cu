// A thread for each element of y or dx, a block for each of dweights.
#include "backends/cuda/direct_conv2d.h"

#include "backends/cuda/early_start.cuh"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/grid.cuh"
#include "backends/cuda/kernels.h"

namespace troika::cuda {
namespace {

// A pixel of an image [n, size[0], size[1]] and its number there.
struct Pixel {
  int64_t image, row, column;

  __device__ Pixel(int64_t number, const int64_t (&size)[2])
      : image(number / (size[0] * size[1])), row(number / size[1] % size[0]), column(number % size[1]) {}
};

__device__ inline int64_t number_of(int64_t image, int64_t row, int64_t column, const int64_t (&size)[2]) {
  return (image * size[0] + row) * size[1] + column;
}

__device__ inline bool is_inside(int64_t row, int64_t column, const int64_t (&size)[2]) {
  return row >= 0 && row < size[0] && column >= 0 && column < size[1];
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    direct_kernel(const T* x, const T* weights, T* y, int64_t elements, Convolution v) {
  wait_for_kernels_before();
  const int64_t group_in = v.c / v.groups, group_out = v.k / v.groups;
  for (int64_t i = first_index(); i < elements; i += index_step()) {
    const int64_t k = i % v.k, first_c = k / group_out * group_in;
    const Pixel out(i / v.k, v.y_size);
    float sum = 0;
    for (int64_t p = 0; p < v.kernel[0]; ++p)
      for (int64_t q = 0; q < v.kernel[1]; ++q) {
        const int64_t row = out.row * v.stride[0] - v.padding[0] + p * v.dilation[0];
        const int64_t column = out.column * v.stride[1] - v.padding[1] + q * v.dilation[1];
        if (!is_inside(row, column, v.x_size)) continue;
        const T* const a = x + number_of(out.image, row, column, v.x_size) * v.c + first_c;
        const T* const b = weights + ((k * v.kernel[0] + p) * v.kernel[1] + q) * group_in;
        for (int64_t c = 0; c < group_in; ++c) sum = fmaf(to_float(a[c]), to_float(b[c]), sum);
      }
    y[i] = from_float<T>(sum);
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    direct_input_gradient_kernel(const T* weights, const T* dy, T* dx, int64_t elements, Convolution v) {
  wait_for_kernels_before();
  const int64_t group_in = v.c / v.groups, group_out = v.k / v.groups, taps = v.kernel[0] * v.kernel[1];
  for (int64_t i = first_index(); i < elements; i += index_step()) {
    const int64_t c = i % v.c, first_k = c / group_in * group_out;
    const Pixel in(i / v.c, v.x_size);
    float sum = 0;
    for (int64_t p = 0; p < v.kernel[0]; ++p)
      for (int64_t q = 0; q < v.kernel[1]; ++q) {
        // The output whose window has the pixel at its place (p, q), if there is one.
        const int64_t row = in.row + v.padding[0] - p * v.dilation[0];
        const int64_t column = in.column + v.padding[1] - q * v.dilation[1];
        if (row < 0 || column < 0 || row % v.stride[0] != 0 || column % v.stride[1] != 0) continue;
        if (!is_inside(row / v.stride[0], column / v.stride[1], v.y_size)) continue;
        const T* const a = dy + number_of(in.image, row / v.stride[0], column / v.stride[1], v.y_size) * v.k;
        const T* const b = weights + (p * v.kernel[1] + q) * group_in + c % group_in;
        for (int64_t k = first_k; k < first_k + group_out; ++k)
          sum = fmaf(to_float(a[k]), to_float(b[k * taps * group_in]), sum);
      }
    dx[i] = from_float<T>(sum);
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    direct_weight_gradient_kernel(const T* x, const T* dy, float* dweights, int64_t elements, int64_t pixels,
                                  Convolution v) {
  wait_for_kernels_before();
  __shared__ float shared[kThreads];
  const int64_t group_in = v.c / v.groups, group_out = v.k / v.groups, taps = v.kernel[0] * v.kernel[1];
  for (int64_t i = blockIdx.x; i < elements; i += gridDim.x) {
    const int64_t tap = i / group_in % taps, k = i / group_in / taps;
    const int64_t p = tap / v.kernel[1], q = tap % v.kernel[1], c = k / group_out * group_in + i % group_in;
    float sum = 0;
    for (int64_t pixel = threadIdx.x; pixel < pixels; pixel += kThreads) {
      const Pixel out(pixel, v.y_size);
      const int64_t row = out.row * v.stride[0] - v.padding[0] + p * v.dilation[0];
      const int64_t column = out.column * v.stride[1] - v.padding[1] + q * v.dilation[1];
      if (!is_inside(row, column, v.x_size)) continue;
      const int64_t in = number_of(out.image, row, column, v.x_size);
      sum = fmaf(to_float(x[in * v.c + c]), to_float(dy[pixel * v.k + k]), sum);
    }
    shared[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = kThreads / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
      __syncthreads();
    }
    if (threadIdx.x == 0) dweights[i] = shared[0];
    __syncthreads();
  }
}

}  // namespace

void direct_conv2d(DType dtype, const Convolution& v, const void* x, const void* weights, void* y,
                   cudaStream_t stream) {
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    direct_kernel<<<blocks_for(v.y_elements()), kThreads, 0, stream>>>(
        static_cast<const T*>(x), static_cast<const T*>(weights), static_cast<T*>(y), v.y_elements(), v);
  });
}

void direct_conv2d_input_gradient(DType dtype, const Convolution& v, const void* weights, const void* dy, void* dx,
                                  cudaStream_t stream) {
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    direct_input_gradient_kernel<<<blocks_for(v.x_elements()), kThreads, 0, stream>>>(
        static_cast<const T*>(weights), static_cast<const T*>(dy), static_cast<T*>(dx), v.x_elements(), v);
  });
}

void direct_conv2d_weight_gradient(DType dtype, const Convolution& v, const void* x, const void* dy, float* dweights,
                                   cudaStream_t stream) {
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    direct_weight_gradient_kernel<<<blocks_for(v.weight_elements(), 1), kThreads, 0, stream>>>(
        static_cast<const T*>(x), static_cast<const T*>(dy), dweights, v.weight_elements(), v.pixels(), v);
  });
}

}  // namespace troika::cuda
