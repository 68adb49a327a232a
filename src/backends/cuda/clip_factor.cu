// clip_factor and gradient_norm: the 2-norm of gradients, found in device memory. A block sums a chunk, then one block the
// chunks, always in the same order.
#include "backends/cuda/block_sum.cuh"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/runs.cuh"

namespace troika::cuda {
namespace {

// The sum of squares of each chunk, in double.
__global__ void __launch_bounds__(kThreads)
    sum_squares_kernel(const __grid_constant__ RunTable<1> table, double* sums) {
  __shared__ double slots[kThreads];
  const Chunk chunk = chunk_of(table, static_cast<int>(blockIdx.x));
  const float* const g = table.runs[chunk.run].arrays[0] + chunk.begin;
  double sum = 0;
  auto add = [&sum](float v) { sum += static_cast<double>(v) * static_cast<double>(v); };
  using Floats = Pack<float, 4>;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < chunk.length / 4; i += kThreads) {
    const Floats gradients = reinterpret_cast<const Floats*>(g)[i];
#pragma unroll
    for (int k = 0; k < 4; ++k) add(gradients.v[k]);
  }
  for (int i = chunk.length / 4 * 4 + static_cast<int>(threadIdx.x); i < chunk.length; i += kThreads) add(g[i]);
  sum = block_sum(sum, slots);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// Of all chunks, for thread 0 of the one block.
__device__ double sum_chunks(const double* sums, int64_t chunks) {
  __shared__ double slots[kThreads];
  double sum = 0;
  for (int64_t i = threadIdx.x; i < chunks; i += kThreads) sum += sums[i];
  return block_sum(sum, slots);
}

// One block. `loss_scale` may be null: gradients are not scaled.
__global__ void __launch_bounds__(kThreads)
    clip_factor_kernel(const double* sums, int64_t chunks, const float* loss_scale, double max_norm, double eps,
                       float* factor, float* norm) {
  const double sum = sum_chunks(sums, chunks);
  if (threadIdx.x != 0) return;
  const double found = sqrt(sum) / (loss_scale ? static_cast<double>(*loss_scale) : 1.0),
               wanted = max_norm / (found + eps);
  *factor = wanted > 1 ? 1.0f : static_cast<float>(wanted);  // NaN stays
  *norm = static_cast<float>(found);
}

// One block. The norm at `rank`, 0 elsewhere.
__global__ void __launch_bounds__(kThreads)
    gradient_norm_kernel(const double* sums, int64_t chunks, int64_t rank, int64_t ranks, float* norms) {
  const double sum = sum_chunks(sums, chunks);
  for (int64_t r = threadIdx.x; r < ranks; r += kThreads)
    if (r != rank) norms[r] = 0;
  if (threadIdx.x == 0) norms[rank] = static_cast<float>(sqrt(sum));
}

// Of the node's first `gradients` inputs, as they lie: the launches that sum the squares of each chunk.
class SquareSums {
 public:
  SquareSums(const KernelRequest& request, size_t gradients) {
    for (size_t i = 0; i < gradients; ++i)
      counts_.push_back(floats_in(input_type(request, i), request.input_layouts[i]));
  }

  // Of the sums. Gradients that lie one behind the other have as many chunks at most as they have alone.
  size_t scratch_bytes() const {
    int64_t chunks = 0;
    for (int64_t count : counts_) chunks += (count + kChunk - 1) / kChunk;
    return static_cast<size_t>(chunks) * sizeof(double);
  }

  void bind(std::span<void* const> inputs, void* scratch) {
    std::vector<Run<1>> runs;
    for (size_t i = 0; i < counts_.size(); ++i) runs.push_back({{static_cast<float*>(inputs[i])}, counts_[i]});
    tables_ = make_tables(std::move(runs));
    sums_ = static_cast<double*>(scratch);
  }

  // Returns how many chunks there are.
  int64_t run(cudaStream_t stream) const {
    int64_t chunks = 0;
    for (const RunTable<1>& table : tables_) {
      sum_squares_kernel<<<table.chunks(), kThreads, 0, stream>>>(table, sums_ + chunks);
      chunks += table.chunks();
    }
    return chunks;
  }

  const double* sums() const { return sums_; }

 private:
  std::vector<int64_t> counts_;  // floats of each gradient
  std::vector<RunTable<1>> tables_;
  double* sums_ = nullptr;
};

// The sums, and what finish(sums, chunks, arguments, stream) launches behind them.
template <typename Finish>
class NormKernel : public Kernel {
 public:
  NormKernel(cudaStream_t stream, SquareSums squares, Finish finish)
      : stream_(stream), squares_(std::move(squares)), finish_(std::move(finish)) {}

  void bind(std::span<void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    squares_.bind(inputs, scratch);
    arguments_.inputs.assign(inputs.begin(), inputs.end());
    arguments_.outputs.assign(outputs.begin(), outputs.end());
  }

  void run() override {
    const int64_t chunks = squares_.run(stream_);
    finish_(squares_.sums(), chunks, arguments_, stream_);
    check_launch(cudaGetLastError());
  }

 private:
  const cudaStream_t stream_;
  SquareSums squares_;
  const Finish finish_;
  Arguments arguments_;
};

template <typename Finish>
KernelChoice choose(CudaDevice& device, const KernelRequest& request, const char* name, size_t gradients,
                    Finish finish) {
  SquareSums squares(request, gradients);
  KernelChoice choice;
  choice.name = name;
  choice.scratch_bytes = squares.scratch_bytes();
  choice.kernel = std::make_unique<NormKernel<Finish>>(device.stream(), std::move(squares), std::move(finish));
  choice.input_layouts = request.input_layouts;  // whatever they are
  choice.output_layouts.resize(request.node.outputs.size());
  return choice;
}

}  // namespace

KernelChoice select_clip_factor(CudaDevice& device, const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  const double max_norm = attributes.real("max_norm"), eps = attributes.real("eps");
  const bool is_scaled = attributes.flag("scaled");
  const size_t gradients = request.node.inputs.size() - (is_scaled ? 1 : 0);
  return choose(device, request, "cuda:own:clip_factor_runs", gradients,
                [=](const double* sums, int64_t chunks, const Arguments& a, cudaStream_t stream) {
                  const float* loss_scale = is_scaled ? a.in<float>(gradients) : nullptr;
                  clip_factor_kernel<<<1, kThreads, 0, stream>>>(sums, chunks, loss_scale, max_norm, eps,
                                                                 a.out<float>(0), a.out<float>(1));
                });
}

KernelChoice select_gradient_norm(CudaDevice& device, const KernelRequest& request) {
  const int64_t rank = request.node.attributes.integer("rank"), ranks = request.node.attributes.integer("ranks");
  return choose(device, request, "cuda:own:gradient_norm_runs", request.node.inputs.size(),
                [=](const double* sums, int64_t chunks, const Arguments& a, cudaStream_t stream) {
                  gradient_norm_kernel<<<1, kThreads, 0, stream>>>(sums, chunks, rank, ranks, a.out<float>(0));
                });
}

}  // namespace troika::cuda
