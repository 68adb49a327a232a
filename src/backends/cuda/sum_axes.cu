// sum_axes: sums of x as [outer, length, inner] over the middle. A block sums one part of the
// middle for some neighbouring columns of `inner`; a second launch adds up the parts. Sums are in
// f32, in a fixed order.
#include "backends/cuda/block_sum.cuh"
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/grid.cuh"
#include "backends/cuda/kernels.h"
#include "ops/sum_axes.h"

namespace troika::cuda {
namespace {

constexpr int kColumns = 32;                 // neighbouring sums of a block, if there are so many
constexpr int kLines = kThreads / kColumns;  // threads that share a column
constexpr int64_t kPartLength = 4096;        // of the middle that one block sums

// A launch sums `length` rows in parts, and multiplies the results by a factor.
struct Sums {
  int64_t outer, length, inner, parts, part;
  float factor;
};

// y [outer, parts, inner] = the sums of each part of x [outer, length, inner]. A grid's row: a
// part.
template <typename From, typename To>
__global__ void __launch_bounds__(kThreads)
    sum_columns_kernel(const From* __restrict__ x, To* __restrict__ y, const __grid_constant__ Sums s) {
  wait_for_kernels_before();
  __shared__ float slots[kLines][kColumns];
  const int column = static_cast<int>(threadIdx.x) % kColumns, line = static_cast<int>(threadIdx.x) / kColumns;
  const int64_t groups = (s.inner + kColumns - 1) / kColumns;
  for (int64_t work = blockIdx.x; work < s.outer * s.parts * groups; work += gridDim.x) {
    const int64_t j = work % groups * kColumns + column, run = work / groups, o = run / s.parts, part = run % s.parts;
    const int64_t begin = part * s.part, end = min(begin + s.part, s.length);
    float sum = 0;
    if (j < s.inner)
      for (int64_t i = begin + line; i < end; i += kLines) sum += to_float(x[(o * s.length + i) * s.inner + j]);
    slots[line][column] = sum;
    __syncthreads();
    if (line == 0 && j < s.inner) {
      float total = 0;
      for (int k = 0; k < kLines; ++k) total += slots[k][column];
      y[run * s.inner + j] = from_float<To>(total * s.factor);
    }
    __syncthreads();
  }
}

// The same for inner == 1: a block sums neighbours.
template <typename From, typename To>
__global__ void __launch_bounds__(kThreads)
    sum_run_kernel(const From* __restrict__ x, To* __restrict__ y, const __grid_constant__ Sums s) {
  wait_for_kernels_before();
  __shared__ float slots[kThreads];
  for (int64_t run = blockIdx.x; run < s.outer * s.parts; run += gridDim.x) {
    const int64_t o = run / s.parts, begin = run % s.parts * s.part, end = min(begin + s.part, s.length);
    float sum = 0;
    for (int64_t i = begin + threadIdx.x; i < end; i += kThreads) sum += to_float(x[o * s.length + i]);
    sum = block_sum(sum, slots);
    if (threadIdx.x == 0) y[run] = from_float<To>(sum * s.factor);
    __syncthreads();
  }
}

template <typename From, typename To>
void launch_sums(const From* x, To* y, const Sums& s, cudaStream_t stream) {
  const int64_t runs = s.outer * s.parts;
  if (s.inner == 1)
    sum_run_kernel<From, To><<<blocks_for(runs, 1), kThreads, 0, stream>>>(x, y, s);
  else
    sum_columns_kernel<From, To>
        <<<blocks_for(runs * ((s.inner + kColumns - 1) / kColumns), 1), kThreads, 0, stream>>>(x, y, s);
}

}  // namespace

KernelChoice select_sum_axes(CudaDevice& device, const KernelRequest& request) {
  const TensorType& type = input_type(request, 0);
  const SumRuns runs(request.node, type.shape);
  const int64_t parts = std::max<int64_t>(1, (runs.length + kPartLength - 1) / kPartLength);
  const auto factor = static_cast<float>(factor_of_sum(request.node, type.shape));
  auto kernel = with_type(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    return make_kernel(device, [=](const Arguments& a, cudaStream_t stream) {
      if (parts == 1)
        return launch_sums(a.in<T>(0), a.out<T>(0), {runs.outer, runs.length, runs.inner, 1, kPartLength, factor},
                           stream);
      auto* const sums = static_cast<float*>(a.scratch);  // [outer, parts, inner]
      launch_sums(a.in<T>(0), sums, {runs.outer, runs.length, runs.inner, parts, kPartLength, 1.0f}, stream);
      launch_sums<float, T>(sums, a.out<T>(0), {runs.outer, parts, runs.inner, 1, parts, factor}, stream);
    });
  });
  KernelChoice choice = plain_choice(request, "cuda:own:sum_axes", std::move(kernel));
  if (parts > 1) choice.scratch_bytes = static_cast<size_t>(runs.outer * parts * runs.inner) * sizeof(float);
  return choice;
}

}  // namespace troika::cuda
