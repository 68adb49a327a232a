// round_bf16: gradients rounded in place, whatever their layouts.
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/input_runs.cuh"

namespace troika::cuda {
namespace {

// The upper half of a float's bits, rounded to the nearest, ties to even; a NaN stays one, quiet.
__device__ uint32_t round_bits(uint32_t b) {
  const uint32_t rounded = (b + 0x7fffu + ((b >> 16) & 1u)) & 0xffff0000u;
  return (b & 0x7fffffffu) > 0x7f800000u ? (b | 0x00400000u) & 0xffff0000u : rounded;
}

__global__ void __launch_bounds__(kThreads) round_bf16_kernel(const __grid_constant__ RunTable<Run<1>> table) {
  wait_for_kernels_before();
  visit_chunk<uint32_t>(table, [](uint32_t& bits) { bits = round_bits(bits); });
}

}  // namespace

KernelChoice select_round_bf16(CudaDevice& device, const KernelRequest& request) {
  InputRuns runs(request, 0, request.node.inputs.size());
  return runs_choice(device, request, "cuda:own:round_bf16_runs", std::move(runs),
                     [](const auto& tables, const Arguments&, cudaStream_t stream) {
                       for (const RunTable<Run<1>>& table : tables)
                         round_bf16_kernel<<<table.chunks(), kThreads, 0, stream>>>(table);
                     });
}

}  // namespace troika::cuda
