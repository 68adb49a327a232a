// clip_factor: the 2-norm of all gradients, found in device memory. A block sums a chunk, then one block the chunks, always in
// the same order.
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

// One block. `loss_scale` may be null: gradients are not scaled.
__global__ void __launch_bounds__(kThreads)
    clip_factor_kernel(const double* sums, int64_t chunks, const float* loss_scale, double max_norm, double eps,
                       float* factor, float* norm) {
  __shared__ double slots[kThreads];
  double sum = 0;
  for (int64_t i = threadIdx.x; i < chunks; i += kThreads) sum += sums[i];
  sum = block_sum(sum, slots);
  if (threadIdx.x != 0) return;
  const double found = sqrt(sum) / (loss_scale ? static_cast<double>(*loss_scale) : 1.0), wanted = max_norm / (found + eps);
  *factor = wanted > 1 ? 1.0f : static_cast<float>(wanted);  // NaN stays
  *norm = static_cast<float>(found);
}

class ClipFactor : public Kernel {
 public:
  // `counts`: floats of each gradient.
  ClipFactor(cudaStream_t stream, double max_norm, double eps, bool is_scaled, std::vector<int64_t> counts)
      : stream_(stream), max_norm_(max_norm), eps_(eps), is_scaled_(is_scaled), counts_(std::move(counts)) {}

  // Of the sums. Gradients that lie one behind the other have as many chunks at most as they have alone.
  size_t scratch_bytes() const {
    int64_t chunks = 0;
    for (int64_t count : counts_) chunks += (count + kChunk - 1) / kChunk;
    return static_cast<size_t>(chunks) * sizeof(double);
  }

  void bind(std::span<void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    std::vector<Run<1>> runs;
    for (size_t i = 0; i < counts_.size(); ++i) runs.push_back({{static_cast<float*>(inputs[i])}, counts_[i]});
    tables_ = make_tables(std::move(runs));
    loss_scale_ = is_scaled_ ? static_cast<const float*>(inputs[counts_.size()]) : nullptr;
    factor_ = static_cast<float*>(outputs[0]);
    norm_ = static_cast<float*>(outputs[1]);
    sums_ = static_cast<double*>(scratch);
  }

  void run() override {
    int64_t chunks = 0;
    for (const RunTable<1>& table : tables_) {
      sum_squares_kernel<<<table.chunks(), kThreads, 0, stream_>>>(table, sums_ + chunks);
      chunks += table.chunks();
    }
    clip_factor_kernel<<<1, kThreads, 0, stream_>>>(sums_, chunks, loss_scale_, max_norm_, eps_, factor_, norm_);
    check_launch(cudaGetLastError());
  }

 private:
  const cudaStream_t stream_;
  const double max_norm_, eps_;
  const bool is_scaled_;
  const std::vector<int64_t> counts_;
  std::vector<RunTable<1>> tables_;
  const float* loss_scale_ = nullptr;
  float *factor_ = nullptr, *norm_ = nullptr;
  double* sums_ = nullptr;
};

}  // namespace

KernelChoice select_clip_factor(CudaDevice& device, const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  const bool is_scaled = attributes.flag("scaled");
  std::vector<int64_t> counts;
  for (size_t i = 0; i < request.node.inputs.size() - (is_scaled ? 1 : 0); ++i)
    counts.push_back(floats_in(input_type(request, i), request.input_layouts[i]));
  auto kernel = std::make_unique<ClipFactor>(device.stream(), attributes.real("max_norm"), attributes.real("eps"),
                                             is_scaled, std::move(counts));
  KernelChoice choice;
  choice.scratch_bytes = kernel->scratch_bytes();
  choice.kernel = std::move(kernel);
  choice.name = "cuda:own:clip_factor_runs";
  choice.input_layouts = request.input_layouts;  // whatever they are
  choice.output_layouts = {nullptr, nullptr};
  return choice;
}

}  // namespace troika::cuda
