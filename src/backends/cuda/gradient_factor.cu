// gradient_factor and gradient_norm: the 2-norm of gradients, found in device memory. A block sums
// a chunk, then one block the chunks, always in the same order.
#include "backends/cuda/block_sum.cuh"
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/input_runs.cuh"

namespace troika::cuda {
namespace {

// The sum of squares of each chunk, in double.
__global__ void __launch_bounds__(kThreads)
    sum_squares_kernel(const __grid_constant__ RunTable<Run<1>> table, double* sums) {
  wait_for_kernels_before();
  __shared__ double slots[kThreads];
  double sum = 0;
  visit_chunk<const float>(table, [&sum](float v) { sum += static_cast<double>(v) * static_cast<double>(v); });
  sum = block_sum(sum, slots);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// Returns the sum of all chunks to thread 0 of the only block.
__device__ double sum_chunks(const double* sums, int64_t chunks) {
  __shared__ double slots[kThreads];
  double sum = 0;
  for (int64_t i = threadIdx.x; i < chunks; i += kThreads) sum += sums[i];
  return block_sum(sum, slots);
}

// One block. `loss_scale` may be null: gradients are not scaled.
__global__ void __launch_bounds__(kThreads)
    gradient_factor_kernel(const double* sums, int64_t chunks, const float* loss_scale, double max_norm, double eps,
                           float* factor, float* norm) {
  wait_for_kernels_before();
  const double sum = sum_chunks(sums, chunks);
  if (threadIdx.x != 0) return;
  const float scale = loss_scale ? *loss_scale : 1.0f;
  const double found = sqrt(sum) / static_cast<double>(scale), wanted = max_norm / (found + eps);
  *factor = 1.0f / scale * (wanted > 1 ? 1.0f : static_cast<float>(wanted));  // NaN stays
  *norm = static_cast<float>(found);
}

__global__ void invert_kernel(const float* scale, float* factor) {
  wait_for_kernels_before();
  *factor = 1.0f / *scale;
}

// One block. The norm at `rank`, 0 elsewhere.
__global__ void __launch_bounds__(kThreads)
    gradient_norm_kernel(const double* sums, int64_t chunks, int64_t rank, int64_t ranks, float* norms) {
  wait_for_kernels_before();
  const double sum = sum_chunks(sums, chunks);
  for (int64_t r = threadIdx.x; r < ranks; r += kThreads)
    if (r != rank) norms[r] = 0;
  if (threadIdx.x == 0) norms[rank] = static_cast<float>(sqrt(sum));
}

// Sums the squares of each chunk of the inputs from `first` on. Then finish(sums, chunks,
// arguments, stream) launches the rest.
template <typename Finish>
KernelChoice choose(const CudaDevice& device, const KernelRequest& request, const char* name, size_t first,
                    Finish finish) {
  InputRuns runs(request, first, request.node.inputs.size());
  const size_t scratch_bytes = runs.most_chunks() * sizeof(double);
  KernelChoice choice = runs_choice(
      device, request, name, std::move(runs), [finish](const auto& tables, const Arguments& a, cudaStream_t stream) {
        auto* const sums = static_cast<double*>(a.scratch);
        int64_t chunks = 0;
        for (const RunTable<Run<1>>& table : tables) {
          sum_squares_kernel<<<table.chunks(), kThreads, 0, stream>>>(table, sums + chunks);
          chunks += table.chunks();
        }
        finish(sums, chunks, a, stream);
      });
  choice.scratch_bytes = scratch_bytes;
  return choice;
}

}  // namespace

KernelChoice select_gradient_factor(CudaDevice& device, const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  const double max_norm = attributes.real("max_norm"), eps = attributes.real("eps");
  if (max_norm == 0)
    return plain_choice(request, "cuda:own:invert", make_kernel(device, [](const Arguments& a, cudaStream_t stream) {
                          invert_kernel<<<1, 1, 0, stream>>>(a.in<float>(0), a.out<float>(0));
                        }));
  return choose(device, request, "cuda:own:gradient_factor_runs", 1,
                [=](const double* sums, int64_t chunks, const Arguments& a, cudaStream_t stream) {
                  gradient_factor_kernel<<<1, kThreads, 0, stream>>>(sums, chunks, a.in<float>(0), max_norm, eps,
                                                                     a.out<float>(0), a.out<float>(1));
                });
}

KernelChoice select_gradient_norm(CudaDevice& device, const KernelRequest& request) {
  const int64_t rank = request.node.attributes.integer("rank"), ranks = request.node.attributes.integer("ranks");
  return choose(device, request, "cuda:own:gradient_norm_runs", 0,
                [=](const double* sums, int64_t chunks, const Arguments& a, cudaStream_t stream) {
                  gradient_norm_kernel<<<1, kThreads, 0, stream>>>(sums, chunks, rank, ranks, a.out<float>(0));
                });
}

}  // namespace troika::cuda
