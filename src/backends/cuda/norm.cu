// layer_norm, group_norm and rms_norm with their gradients: a block per row (ops/norm.h). The
// gradients of a weight are sums over rows, in parts of a fixed number of rows. In f32.
#include "backends/cuda/early_start.cuh"
#include "core/text.h"
#include "ops/norm.h"

#include "backends/cuda/block_sum.cuh"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/grid.cuh"
#include "backends/cuda/kernels.h"

namespace troika::cuda {
namespace {

constexpr int64_t kMostParts = 64;

// NormRows for device code, and what a layer has.
struct Norm {
  int64_t rows, length, groups, run;
  bool has_mean, has_weight;
  float eps;

  Norm(const KernelRequest& request, bool mean)
      : has_mean(mean),
        has_weight(has_input(request, norm::weight)),
        eps(static_cast<float>(request.node.attributes.real("eps"))) {
    const NormRows of(request.node, input_type(request, 0).shape);
    rows = of.rows;
    length = of.length;
    groups = of.groups;
    run = of.run;
  }

  __host__ __device__ int64_t row_weights() const { return length / run; }
  __host__ __device__ int64_t weights() const { return groups * row_weights(); }
  __device__ int64_t weight_index(int64_t row, int64_t i) const {
    return row % groups * row_weights() + (run == 1 ? i : i / run);
  }
};

template <typename T>
__global__ void __launch_bounds__(kThreads)
    norm_kernel(const T* __restrict__ x, const float* weight, const float* bias, T* __restrict__ y, float* inv_std,
                float* mean, const __grid_constant__ Norm norm) {
  wait_for_kernels_before();
  __shared__ float slots[kThreads];
  const auto n = static_cast<float>(norm.length);
  for (int64_t row = blockIdx.x; row < norm.rows; row += gridDim.x) {
    const T* const from = x + row * norm.length;
    float m = 0;
    if (norm.has_mean) {
      float sum = 0;
      for (int64_t i = threadIdx.x; i < norm.length; i += kThreads) sum += to_float(from[i]);
      m = block_sum(sum, slots) / n;
      __syncthreads();
    }
    float squares = 0;
    for (int64_t i = threadIdx.x; i < norm.length; i += kThreads) {
      const float d = to_float(from[i]) - m;
      squares += d * d;
    }
    const float scale = 1 / sqrtf(block_sum(squares, slots) / n + norm.eps);
    __syncthreads();
    if (threadIdx.x == 0) {
      inv_std[row] = scale;
      if (mean) mean[row] = m;
    }
    for (int64_t i = threadIdx.x; i < norm.length; i += kThreads) {
      float v = (to_float(from[i]) - m) * scale;
      const int64_t c = norm.weight_index(row, i);
      if (weight) v *= weight[c];
      if (bias) v += bias[c];
      y[row * norm.length + i] = from_float<T>(v);
    }
  }
}

// dx = inv_std (w dy - mean of w dy - (x - mean) inv_std^2 mean of w dy (x - mean)), without the
// first mean if the rows have none.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    norm_gradient_kernel(const T* __restrict__ x, const float* weight, const float* inv_std, const T* __restrict__ dy,
                         const float* mean, T* __restrict__ dx, const __grid_constant__ Norm norm) {
  wait_for_kernels_before();
  __shared__ float slots[kThreads];
  const auto n = static_cast<float>(norm.length);
  for (int64_t row = blockIdx.x; row < norm.rows; row += gridDim.x) {
    const int64_t first = row * norm.length;
    const float m = mean ? mean[row] : 0, a = inv_std[row];
    float sum = 0, products = 0;
    for (int64_t i = threadIdx.x; i < norm.length; i += kThreads) {
      const float d = to_float(dy[first + i]) * (weight ? weight[norm.weight_index(row, i)] : 1);
      sum += d;
      products += d * (to_float(x[first + i]) - m);
    }
    sum = block_sum(sum, slots);
    __syncthreads();
    products = block_sum(products, slots);
    __syncthreads();
    const float b = a * a * a * products / n, c = norm.has_mean ? a * sum / n : 0;
    for (int64_t i = threadIdx.x; i < norm.length; i += kThreads) {
      const float w = weight ? weight[norm.weight_index(row, i)] : 1;
      dx[first + i] = from_float<T>(a * w * to_float(dy[first + i]) - b * (to_float(x[first + i]) - m) - c);
    }
  }
}

// Sums of some rows for each weight: parts [parts, 2, weights]. A thread has a weight, or, if a
// weight serves a run of numbers, a block does.
struct Parts {
  int64_t count, samples;  // of the rows r, r + groups, ...
};

template <typename T>
__global__ void __launch_bounds__(kThreads)
    weight_parts_kernel(const T* __restrict__ x, const float* inv_std, const T* __restrict__ dy, const float* mean,
                        float* sums, const __grid_constant__ Norm norm, const __grid_constant__ Parts parts) {
  wait_for_kernels_before();
  const int64_t weights = norm.weights(), samples = norm.rows / norm.groups;
  for (int64_t k = first_index(); k < weights * parts.count; k += index_step()) {
    const int64_t c = k % weights, part = k / weights;
    const int64_t group = c / norm.row_weights(), at = c % norm.row_weights();
    float dweight = 0, dbias = 0;
    for (int64_t s = part * parts.samples; s < min((part + 1) * parts.samples, samples); ++s) {
      const int64_t row = s * norm.groups + group;
      const float d = to_float(dy[row * norm.length + at]);
      dweight += d * (to_float(x[row * norm.length + at]) - (mean ? mean[row] : 0)) * inv_std[row];
      dbias += d;
    }
    sums[part * 2 * weights + c] = dweight;
    sums[part * 2 * weights + weights + c] = dbias;
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    weight_runs_kernel(const T* __restrict__ x, const float* inv_std, const T* __restrict__ dy, const float* mean,
                       float* sums, const __grid_constant__ Norm norm, const __grid_constant__ Parts parts) {
  wait_for_kernels_before();
  __shared__ float slots[kThreads];
  const int64_t weights = norm.weights(), samples = norm.rows / norm.groups;
  for (int64_t k = blockIdx.x; k < weights * parts.count; k += gridDim.x) {
    const int64_t c = k % weights, part = k / weights;
    const int64_t group = c / norm.row_weights(), at = c % norm.row_weights() * norm.run;
    const int64_t first = part * parts.samples, numbers = (min(first + parts.samples, samples) - first) * norm.run;
    float dweight = 0, dbias = 0;
    for (int64_t i = threadIdx.x; i < numbers; i += kThreads) {
      const int64_t row = (first + i / norm.run) * norm.groups + group, place = row * norm.length + at + i % norm.run;
      const float d = to_float(dy[place]);
      dweight += d * (to_float(x[place]) - (mean ? mean[row] : 0)) * inv_std[row];
      dbias += d;
    }
    dweight = block_sum(dweight, slots);
    __syncthreads();
    dbias = block_sum(dbias, slots);
    __syncthreads();
    if (threadIdx.x != 0) continue;
    sums[part * 2 * weights + c] = dweight;
    sums[part * 2 * weights + weights + c] = dbias;
  }
}

// `dbias` may be null.
__global__ void __launch_bounds__(kThreads)
    add_weight_parts_kernel(const float* sums, int64_t weights, int64_t parts, float* dweight, float* dbias) {
  wait_for_kernels_before();
  for (int64_t c = first_index(); c < weights; c += index_step()) {
    float of_weight = 0, of_bias = 0;
    for (int64_t part = 0; part < parts; ++part) {
      of_weight += sums[part * 2 * weights + c];
      of_bias += sums[part * 2 * weights + weights + c];
    }
    dweight[c] = of_weight;
    if (dbias) dbias[c] = of_bias;
  }
}

const float* weights_in(const Arguments& a, size_t i) { return i < a.inputs.size() ? a.in<float>(i) : nullptr; }

KernelChoice choose_norm(CudaDevice& device, const KernelRequest& request, bool has_mean) {
  const Norm norm(request, has_mean);
  auto kernel = with_type(input_type(request, 0).dtype, [&](auto zero) {
    using T = decltype(zero);
    return make_kernel(device, [norm](const Arguments& a, cudaStream_t stream) {
      norm_kernel<T><<<blocks_for(norm.rows, 1), kThreads, 0, stream>>>(
          a.in<T>(norm::x), a.in<float>(norm::weight), weights_in(a, norm::bias), a.out<T>(norm::y),
          a.out<float>(norm::inv_std), norm.has_mean ? a.out<float>(norm::mean) : nullptr, norm);
    });
  });
  return plain_choice(request, text("cuda:own:", request.node.op), std::move(kernel));
}

KernelChoice choose_norm_gradient(CudaDevice& device, const KernelRequest& request, bool has_mean) {
  const Norm norm(request, has_mean);
  const bool has_weights = request.node.outputs.size() > 1;
  const int64_t samples = std::max<int64_t>(1, norm.rows / norm.groups), part = (samples + kMostParts - 1) / kMostParts;
  const Parts parts{(samples + part - 1) / part, part};
  auto kernel = with_type(input_type(request, 0).dtype, [&](auto zero) {
    using T = decltype(zero);
    return make_kernel(device, [=](const Arguments& a, cudaStream_t stream) {
      const T *const x = a.in<T>(norm_gradient::x), *const dy = a.in<T>(norm_gradient::dy);
      const float *const inv_std = a.in<float>(norm_gradient::inv_std), *const mean =
                                                                            weights_in(a, norm_gradient::mean);
      norm_gradient_kernel<T><<<blocks_for(norm.rows, 1), kThreads, 0, stream>>>(
          x, a.in<float>(norm_gradient::weight), inv_std, dy, mean, a.out<T>(norm_gradient::dx), norm);
      if (!has_weights) return;
      auto* const sums = static_cast<float*>(a.scratch);
      const int64_t work = norm.weights() * parts.count;
      if (norm.run == 1)
        weight_parts_kernel<T><<<blocks_for(work), kThreads, 0, stream>>>(x, inv_std, dy, mean, sums, norm, parts);
      else
        weight_runs_kernel<T><<<blocks_for(work, 1), kThreads, 0, stream>>>(x, inv_std, dy, mean, sums, norm, parts);
      add_weight_parts_kernel<<<blocks_for(norm.weights()), kThreads, 0, stream>>>(
          sums, norm.weights(), parts.count, a.out<float>(norm_gradient::dweight),
          norm.has_mean ? a.out<float>(norm_gradient::dbias) : nullptr);
    });
  });
  KernelChoice choice = plain_choice(request, text("cuda:own:", request.node.op), std::move(kernel));
  if (has_weights) choice.scratch_bytes = static_cast<size_t>(parts.count * 2 * norm.weights()) * sizeof(float);
  return choice;
}

}  // namespace

KernelChoice select_layer_norm(CudaDevice& device, const KernelRequest& request) {
  return choose_norm(device, request, true);
}

KernelChoice select_layer_norm_gradient(CudaDevice& device, const KernelRequest& request) {
  return choose_norm_gradient(device, request, true);
}

KernelChoice select_group_norm(CudaDevice& device, const KernelRequest& request) {
  return choose_norm(device, request, true);
}

KernelChoice select_group_norm_gradient(CudaDevice& device, const KernelRequest& request) {
  return choose_norm_gradient(device, request, true);
}

KernelChoice select_rms_norm(CudaDevice& device, const KernelRequest& request) {
  return choose_norm(device, request, false);
}

KernelChoice select_rms_norm_gradient(CudaDevice& device, const KernelRequest& request) {
  return choose_norm_gradient(device, request, false);
}

}  // namespace troika::cuda
