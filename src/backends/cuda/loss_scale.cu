// check_finite and update_loss_scale: dynamic loss scaling, decided in device memory.
#include "backends/cuda/elements.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/runs.cuh"

namespace troika::cuda {
namespace {

__global__ void set_kernel(int32_t* flag, int32_t value) { *flag = value; }

// Clears the flag where a number is infinite or NaN. A block takes a chunk; all that write write the same.
__global__ void __launch_bounds__(kThreads)
    check_finite_kernel(const __grid_constant__ RunTable<1> table, int32_t* is_finite) {
  const Chunk chunk = chunk_of(table, static_cast<int>(blockIdx.x));
  const float* const g = table.runs[chunk.run].arrays[0] + chunk.begin;
  bool is_good = true;
  using Floats = Pack<float, 4>;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < chunk.length / 4; i += kThreads) {
    const Floats gradients = reinterpret_cast<const Floats*>(g)[i];
#pragma unroll
    for (int k = 0; k < 4; ++k) is_good &= static_cast<bool>(isfinite(gradients.v[k]));
  }
  for (int i = chunk.length / 4 * 4 + static_cast<int>(threadIdx.x); i < chunk.length; i += kThreads)
    is_good &= static_cast<bool>(isfinite(g[i]));
  if (!__syncthreads_and(is_good) && threadIdx.x == 0) atomicExch(is_finite, 0);
}

// scale: {scale, good steps since it last changed}.
__global__ void update_loss_scale_kernel(float* scale, const int32_t* is_finite, float growth, float backoff,
                                         float interval) {
  if (*is_finite == 0) {
    scale[0] = fmaxf(scale[0] * backoff, 1.0f);
    scale[1] = 0;
    return;
  }
  const float good = scale[1] + 1;
  if (good >= interval) scale[0] *= growth;
  scale[1] = good >= interval ? 0 : good;
}

class CheckFinite : public Kernel {
 public:
  // `counts`: floats of each gradient.
  CheckFinite(cudaStream_t stream, std::vector<int64_t> counts) : stream_(stream), counts_(std::move(counts)) {}

  void bind(std::span<void* const> inputs, std::span<void* const> outputs, void*) override {
    std::vector<Run<1>> runs;
    for (size_t i = 0; i < counts_.size(); ++i) runs.push_back({{static_cast<float*>(inputs[i])}, counts_[i]});
    tables_ = make_tables(std::move(runs));
    is_finite_ = static_cast<int32_t*>(outputs[0]);
  }

  void run() override {
    set_kernel<<<1, 1, 0, stream_>>>(is_finite_, 1);
    for (const RunTable<1>& table : tables_)
      check_finite_kernel<<<table.chunks(), kThreads, 0, stream_>>>(table, is_finite_);
    check_launch(cudaGetLastError());
  }

 private:
  const cudaStream_t stream_;
  const std::vector<int64_t> counts_;
  std::vector<RunTable<1>> tables_;
  int32_t* is_finite_ = nullptr;
};

}  // namespace

KernelChoice select_check_finite(CudaDevice& device, const KernelRequest& request) {
  std::vector<int64_t> counts;
  for (size_t i = 0; i < request.node.inputs.size(); ++i)
    counts.push_back(floats_in(input_type(request, i), request.input_layouts[i]));
  KernelChoice choice;
  choice.kernel = std::make_unique<CheckFinite>(device.stream(), std::move(counts));
  choice.name = "cuda:own:check_finite_runs";
  choice.input_layouts = request.input_layouts;  // whatever they are
  choice.output_layouts = {nullptr};
  return choice;
}

KernelChoice select_update_loss_scale(CudaDevice& device, const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  const auto growth = static_cast<float>(attributes.real("growth")),
             backoff = static_cast<float>(attributes.real("backoff")),
             interval = static_cast<float>(attributes.integer("interval"));
  auto kernel = make_kernel(device, [=](const Arguments& a, cudaStream_t stream) {
    update_loss_scale_kernel<<<1, 1, 0, stream>>>(static_cast<float*>(a.inputs[0]), a.in<int32_t>(1), growth, backoff,
                                                  interval);
  });
  return plain_choice(request, "cuda:own:update_loss_scale", std::move(kernel));
}

}  // namespace troika::cuda
