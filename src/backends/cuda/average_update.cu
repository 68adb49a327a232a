// average_update: one launch over all averages and parameters.
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/runs.cuh"

namespace troika::cuda {
namespace {

// Runs of average and parameter.
__global__ void __launch_bounds__(kThreads)
    average_update_kernel(const __grid_constant__ RunTable<Run<2>> table, const int32_t* is_finite, float part) {
  wait_for_kernels_before();
  if (is_finite && *is_finite == 0) return;
  const Chunk chunk = chunk_of(table, static_cast<int>(blockIdx.x));
  float* const average = table.runs[chunk.run].arrays[0] + chunk.begin;
  const float* const p = table.runs[chunk.run].arrays[1] + chunk.begin;
  using Floats = Pack<float, 4>;
  for (int i = static_cast<int>(threadIdx.x); i < chunk.length / 4; i += kThreads) {
    Floats averages = reinterpret_cast<Floats*>(average)[i];
    const Floats parameters = reinterpret_cast<const Floats*>(p)[i];
#pragma unroll
    for (int k = 0; k < 4; ++k) averages.v[k] += part * (parameters.v[k] - averages.v[k]);
    reinterpret_cast<Floats*>(average)[i] = averages;
  }
  for (int i = chunk.length / 4 * 4 + static_cast<int>(threadIdx.x); i < chunk.length; i += kThreads)
    average[i] += part * (p[i] - average[i]);
}

class AverageUpdate : public Kernel {
 public:
  // `counts`: floats of each parameter.
  AverageUpdate(cudaStream_t stream, float part, std::vector<int64_t> counts)
      : stream_(stream), part_(part), counts_(std::move(counts)) {}

  void bind(std::span<void* const> inputs, std::span<void* const>, void*) override {
    std::vector<Run<2>> runs;
    for (size_t k = 0; k < counts_.size(); ++k)
      runs.push_back({{static_cast<float*>(inputs[1 + 2 * k]), static_cast<float*>(inputs[2 + 2 * k])}, counts_[k]});
    tables_ = make_tables(std::move(runs));
    is_finite_ = static_cast<const int32_t*>(inputs[0]);
  }

  void run() override {
    for (const RunTable<Run<2>>& table : tables_)
      average_update_kernel<<<table.chunks(), kThreads, 0, stream_>>>(table, is_finite_, part_);
    check_launch(cudaGetLastError());
  }

 private:
  const cudaStream_t stream_;
  const float part_;
  const std::vector<int64_t> counts_;
  std::vector<RunTable<Run<2>>> tables_;
  const int32_t* is_finite_ = nullptr;
};

}  // namespace

KernelChoice select_average_update(CudaDevice& device, const KernelRequest& request) {
  KernelChoice choice;
  choice.name = "cuda:own:average_runs";
  choice.input_layouts = {nullptr};
  std::vector<int64_t> counts;
  for (size_t i = 1; i < request.node.inputs.size(); i += 2) {
    choice.input_layouts.insert(choice.input_layouts.end(), 2, request.input_layouts[i]);
    counts.push_back(floats_in(input_type(request, i), request.input_layouts[i]));
  }
  choice.kernel = std::make_unique<AverageUpdate>(
      stream_of(device), static_cast<float>(1 - request.node.attributes.real("decay")), std::move(counts));
  return choice;
}

}  // namespace troika::cuda
