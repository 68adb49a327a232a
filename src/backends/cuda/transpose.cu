// transpose: one thread per number of the output; neighbours of the input and of the output meet in
// squares in shared memory, so that both are read and written in runs.
#include "ops/transpose.h"

#include "backends/cuda/early_start.cuh"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/grid.cuh"
#include "backends/cuda/kernels.h"

namespace troika::cuda {
namespace {

// The input's neighbours are the output's neighbours.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    gather_kernel(const T* __restrict__ x, T* __restrict__ y, int64_t n, const __grid_constant__ TransposeLoops loops) {
  wait_for_kernels_before();
  for (int64_t i = first_index(); i < n; i += index_step()) {
    int64_t rest = i, at = 0;
    for (int k = loops.count - 1; k >= 0; --k) {
      at += rest % loops.size[k] * loops.step[k];
      rest /= loops.size[k];
    }
    y[i] = x[at];
  }
}

constexpr int kSide = 32;
constexpr int kSideThreads = 8;  // rows of threads: each thread moves kSide / kSideThreads numbers

// A plane [along, across] of the output, whose steps in the input are 1 and across_step, for each
// number of the outer loops.
struct Planes {
  TransposeLoops outer;
  int64_t outer_to[kMaxRank];
  int64_t across, across_step, along, along_to, count;
};

template <typename T>
__global__ void __launch_bounds__(kSide* kSideThreads)
    squares_kernel(const T* __restrict__ x, T* __restrict__ y, const __grid_constant__ Planes p) {
  wait_for_kernels_before();
  __shared__ T square[kSide][kSide + 1];
  const int column = static_cast<int>(threadIdx.x) % kSide, first_row = static_cast<int>(threadIdx.x) / kSide;
  const int64_t wide = (p.across + kSide - 1) / kSide, high = (p.along + kSide - 1) / kSide;
  for (int64_t work = blockIdx.x; work < p.count * wide * high; work += gridDim.x) {
    const int64_t i0 = work / wide % high * kSide, j0 = work % wide * kSide;
    int64_t rest = work / wide / high, at = 0, at_to = 0;
    for (int k = p.outer.count - 1; k >= 0; --k) {
      at += rest % p.outer.size[k] * p.outer.step[k];
      at_to += rest % p.outer.size[k] * p.outer_to[k];
      rest /= p.outer.size[k];
    }
    for (int r = first_row; r < kSide; r += kSideThreads)
      if (j0 + r < p.across && i0 + column < p.along)
        square[r][column] = x[at + (j0 + r) * p.across_step + i0 + column];
    __syncthreads();
    for (int r = first_row; r < kSide; r += kSideThreads)
      if (i0 + r < p.along && j0 + column < p.across)
        y[at_to + (i0 + r) * p.along_to + j0 + column] = square[column][r];
    __syncthreads();
  }
}

Planes planes_of(const TransposeLoops& loops, int64_t elements) {
  Planes p{};
  const int last = loops.count - 1;
  p.across = loops.size[last];
  p.across_step = loops.step[last];
  p.along = p.along_to = 1;
  int64_t to = elements;
  for (int i = 0; i < last; ++i) {
    to /= loops.size[i];
    if (loops.step[i] == 1) {
      p.along = loops.size[i];
      p.along_to = to;
      continue;
    }
    p.outer.size[p.outer.count] = loops.size[i];
    p.outer.step[p.outer.count] = loops.step[i];
    p.outer_to[p.outer.count++] = to;
  }
  p.count = elements / (p.across * p.along);
  return p;
}

}  // namespace

KernelChoice select_transpose(CudaDevice& device, const KernelRequest& request) {
  const TensorType& type = input_type(request, 0);
  const TransposeLoops loops = transpose_loops(request.node, type.shape);
  const int64_t n = type.shape.elements();
  const bool has_runs = loops.step[loops.count - 1] == 1 || n <= 1;
  const Planes planes = has_runs ? Planes{} : planes_of(loops, n);
  auto kernel = with_type(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    return make_kernel(device, [=](const Arguments& a, cudaStream_t stream) {
      if (has_runs) {
        gather_kernel<T><<<blocks_for(n), kThreads, 0, stream>>>(a.in<T>(0), a.out<T>(0), n, loops);
        return;
      }
      const int64_t squares =
          planes.count * ((planes.across + kSide - 1) / kSide) * ((planes.along + kSide - 1) / kSide);
      squares_kernel<T><<<blocks_for(squares, 1), kSide * kSideThreads, 0, stream>>>(a.in<T>(0), a.out<T>(0), planes);
    });
  });
  return plain_choice(request, "cuda:own:transpose", std::move(kernel));
}

}  // namespace troika::cuda
