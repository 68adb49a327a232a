// count_updates.
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/kernels.h"

namespace troika::cuda {
namespace {

__global__ void count_updates_kernel(int64_t* count, int64_t rows, const int32_t* is_finite) {
  wait_for_kernels_before();
  if (is_finite && *is_finite == 0) return;
  for (int64_t i = threadIdx.x; i < rows; i += blockDim.x) ++count[i];
}

}  // namespace

KernelChoice select_count_updates(CudaDevice& device, const KernelRequest& request) {
  const int64_t rows = input_type(request, 0).shape[0];
  auto kernel = make_kernel(device, [rows](const Arguments& a, cudaStream_t stream) {
    count_updates_kernel<<<1, 32, 0, stream>>>(static_cast<int64_t*>(a.inputs[0]), rows, a.in<int32_t>(1));
  });
  return plain_choice(request, "cuda:own:count_updates", std::move(kernel));
}

}  // namespace troika::cuda
