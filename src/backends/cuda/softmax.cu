// softmax, its gradient and argmax, along one axis of x as [outer, length, inner]: a warp per row,
// or, if other axes follow, a thread per row, so that neighbouring threads read neighbours. In f32.
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/grid.cuh"
#include "backends/cuda/kernels.h"
#include "ops/axis_rows.h"

namespace troika::cuda {
namespace {

constexpr int kLanes = 32;

// The lanes that share a row.
struct RowLanes {
  int lane, lanes;

  __device__ float largest(float v) const {
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
      const float other = __shfl_xor_sync(~0u, v, distance);
      v = other > v ? other : v;
    }
    return v;
  }
  __device__ float sum(float v) const {
    for (int distance = lanes / 2; distance > 0; distance /= 2) v += __shfl_xor_sync(~0u, v, distance);
    return v;
  }
};

// Calls body(first number, lanes, whether there is a row) for the rows of this thread. Lanes
// without a row go along for the shuffles, on the last row.
template <bool has_warp, typename Body>
__device__ void each_row(const AxisRows& rows, Body body) {
  const int lanes = has_warp ? kLanes : 1, lane = has_warp ? static_cast<int>(threadIdx.x) % kLanes : 0;
  const int64_t count = rows.outer * rows.inner, per_block = blockDim.x / lanes, step = int64_t{gridDim.x} * per_block;
  for (int64_t first = int64_t{blockIdx.x} * per_block; first < count; first += step) {
    const int64_t own = first + threadIdx.x / lanes, row = own < count ? own : count - 1;
    body(row / rows.inner * rows.length * rows.inner + row % rows.inner, RowLanes{lane, lanes}, own < count, row);
  }
}

template <typename T, bool has_warp>
__global__ void __launch_bounds__(kThreads) softmax_kernel(const T* x, T* y, const __grid_constant__ AxisRows rows) {
  wait_for_kernels_before();
  each_row<has_warp>(rows, [&](int64_t first, RowLanes l, bool is_row, int64_t) {
    float most = to_float(x[first]);
    for (int64_t i = l.lane; i < rows.length; i += l.lanes) {
      const float v = to_float(x[first + i * rows.inner]);
      most = v > most ? v : most;
    }
    most = l.largest(most);
    float sum = 0;
    for (int64_t i = l.lane; i < rows.length; i += l.lanes) sum += expf(to_float(x[first + i * rows.inner]) - most);
    const float factor = 1 / l.sum(sum);
    if (!is_row) return;
    for (int64_t i = l.lane; i < rows.length; i += l.lanes) {
      const int64_t at = first + i * rows.inner;
      y[at] = from_float<T>(expf(to_float(x[at]) - most) * factor);
    }
  });
}

template <typename T, bool has_warp>
__global__ void __launch_bounds__(kThreads)
    softmax_gradient_kernel(const T* y, const T* dy, T* dx, const __grid_constant__ AxisRows rows) {
  wait_for_kernels_before();
  each_row<has_warp>(rows, [&](int64_t first, RowLanes l, bool is_row, int64_t) {
    float dot = 0;
    for (int64_t i = l.lane; i < rows.length; i += l.lanes)
      dot += to_float(y[first + i * rows.inner]) * to_float(dy[first + i * rows.inner]);
    dot = l.sum(dot);
    if (!is_row) return;
    for (int64_t i = l.lane; i < rows.length; i += l.lanes) {
      const int64_t at = first + i * rows.inner;
      dx[at] = from_float<T>(to_float(y[at]) * (to_float(dy[at]) - dot));
    }
  });
}

// Whether v at place i comes before `best` at place `place`: NaN first, then the larger, then the
// earlier one.
__device__ bool is_better(float v, int64_t i, float best, int64_t place) {
  const bool v_is_nan = v != v, best_is_nan = best != best;
  if (v_is_nan || best_is_nan) return v_is_nan && (!best_is_nan || i < place);
  return v > best || (v == best && i < place);
}

template <typename T, bool has_warp>
__global__ void __launch_bounds__(kThreads)
    argmax_kernel(const T* __restrict__ x, int64_t* places, const __grid_constant__ AxisRows rows) {
  wait_for_kernels_before();
  each_row<has_warp>(rows, [&](int64_t first, RowLanes l, bool is_row, int64_t row) {
    float best = to_float(x[first]);
    int64_t place = 0;
    for (int64_t i = l.lane; i < rows.length; i += l.lanes) {
      const float v = to_float(x[first + i * rows.inner]);
      if (!is_better(v, i, best, place)) continue;
      best = v;
      place = i;
    }
    for (int distance = l.lanes / 2; distance > 0; distance /= 2) {
      const float other = __shfl_xor_sync(~0u, best, distance);
      const int64_t other_place = __shfl_xor_sync(~0u, place, distance);
      if (!is_better(other, other_place, best, place)) continue;
      best = other;
      place = other_place;
    }
    if (is_row && l.lane == 0) places[row] = place;
  });
}

unsigned row_blocks(const AxisRows& rows) {
  return blocks_for(rows.outer * rows.inner, rows.inner == 1 ? kThreads / kLanes : kThreads);
}

// A warp takes a row alone if the row's numbers are neighbours.
template <typename F>
auto with_warp(const AxisRows& rows, F f) {
  return rows.inner == 1 ? f(std::true_type{}) : f(std::false_type{});
}

}  // namespace

KernelChoice select_softmax(CudaDevice& device, const KernelRequest& request) {
  const AxisRows rows(request.node, input_type(request, 0).shape);
  auto kernel = with_type(input_type(request, 0).dtype, [&](auto zero) {
    using T = decltype(zero);
    return make_kernel(device, [rows](const Arguments& a, cudaStream_t stream) {
      if (rows.length == 0) return;
      with_warp(rows, [&](auto has_warp) {
        softmax_kernel<T, has_warp.value><<<row_blocks(rows), kThreads, 0, stream>>>(a.in<T>(0), a.out<T>(0), rows);
      });
    });
  });
  KernelChoice choice = plain_choice(request, "cuda:own:softmax", std::move(kernel));
  choice.may_share = {{0, 0}};
  return choice;
}

KernelChoice select_softmax_gradient(CudaDevice& device, const KernelRequest& request) {
  const AxisRows rows(request.node, input_type(request, 0).shape);
  auto kernel = with_type(input_type(request, 0).dtype, [&](auto zero) {
    using T = decltype(zero);
    return make_kernel(device, [rows](const Arguments& a, cudaStream_t stream) {
      with_warp(rows, [&](auto has_warp) {
        softmax_gradient_kernel<T, has_warp.value>
            <<<row_blocks(rows), kThreads, 0, stream>>>(a.in<T>(0), a.in<T>(1), a.out<T>(0), rows);
      });
    });
  });
  KernelChoice choice = plain_choice(request, "cuda:own:softmax_gradient", std::move(kernel));
  choice.may_share = {{0, 1}, {0, 0}};
  return choice;
}

KernelChoice select_argmax(CudaDevice& device, const KernelRequest& request) {
  const AxisRows rows(request.node, input_type(request, 0).shape);
  auto kernel = with_type(input_type(request, 0).dtype, [&](auto zero) {
    using T = decltype(zero);
    return make_kernel(device, [rows](const Arguments& a, cudaStream_t stream) {
      with_warp(rows, [&](auto has_warp) {
        argmax_kernel<T, has_warp.value>
            <<<row_blocks(rows), kThreads, 0, stream>>>(a.in<T>(0), a.out<int64_t>(0), rows);
      });
    });
  });
  return plain_choice(request, "cuda:own:argmax", std::move(kernel));
}

}  // namespace troika::cuda
