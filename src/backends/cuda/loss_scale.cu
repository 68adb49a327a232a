// check_finite and update_loss_scale: dynamic loss scaling, decided in device memory.
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/input_runs.cuh"

namespace troika::cuda {
namespace {

__global__ void set_kernel(int32_t* flag, int32_t value) {
  wait_for_kernels_before();
  *flag = value;
}

// Clears the flag if a number is infinite or NaN. All blocks that write, write the same.
__global__ void __launch_bounds__(kThreads)
    check_finite_kernel(const __grid_constant__ RunTable<Run<1>> table, int32_t* is_finite) {
  wait_for_kernels_before();
  bool is_good = true;
  visit_chunk<const float>(table, [&is_good](float v) { is_good &= static_cast<bool>(isfinite(v)); });
  if (!__syncthreads_and(is_good) && threadIdx.x == 0) atomicExch(is_finite, 0);
}

// scale: {scale, good steps since it last changed}. copy: of both, after the update.
__global__ void update_loss_scale_kernel(float* scale, const int32_t* is_finite, float* copy, float growth,
                                         float backoff, float interval) {
  wait_for_kernels_before();
  const float good = scale[1] + 1;
  const bool is_lowered = *is_finite == 0, is_raised = !is_lowered && good >= interval;
  copy[0] = scale[0] = is_lowered ? fmaxf(scale[0] * backoff, 1.0f) : is_raised ? scale[0] * growth : scale[0];
  copy[1] = scale[1] = is_lowered || is_raised ? 0 : good;
}

}  // namespace

KernelChoice select_check_finite(CudaDevice& device, const KernelRequest& request) {
  InputRuns runs(request, 0, request.node.inputs.size());
  return runs_choice(device, request, "cuda:own:check_finite_runs", std::move(runs),
                     [](const auto& tables, const Arguments& a, cudaStream_t stream) {
                       auto* const is_finite = a.out<int32_t>(0);
                       set_kernel<<<1, 1, 0, stream>>>(is_finite, 1);
                       for (const RunTable<Run<1>>& table : tables)
                         check_finite_kernel<<<table.chunks(), kThreads, 0, stream>>>(table, is_finite);
                     });
}

KernelChoice select_update_loss_scale(CudaDevice& device, const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  const auto growth = static_cast<float>(attributes.real("growth")),
             backoff = static_cast<float>(attributes.real("backoff")),
             interval = static_cast<float>(attributes.integer("interval"));
  auto kernel = make_kernel(device, [=](const Arguments& a, cudaStream_t stream) {
    update_loss_scale_kernel<<<1, 1, 0, stream>>>(static_cast<float*>(a.inputs[0]), a.in<int32_t>(1), a.out<float>(0),
                                                  growth, backoff, interval);
  });
  return plain_choice(request, "cuda:own:update_loss_scale", std::move(kernel));
}

}  // namespace troika::cuda
