// crop: rows of a plain image, copied.
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/grid.cuh"
#include "backends/cuda/kernels.h"

namespace troika::cuda {
namespace {

// source [images, height, width] -> target [images, h, w].
__global__ void crop_kernel(const float* __restrict__ source, float* __restrict__ target, int64_t n, int64_t height,
                            int64_t width, int64_t h, int64_t w) {
  wait_for_kernels_before();
  for (int64_t i = first_index(); i < n; i += index_step()) {
    const int64_t column = i % w, row = i / w % h, image = i / (w * h);
    target[i] = source[(image * height + row) * width + column];
  }
}

}  // namespace

KernelChoice select_crop(CudaDevice& device, const KernelRequest& request) {
  const Shape x = input_type(request, 0).shape, y = output_type(request, 0).shape;
  const int64_t n = y.elements();
  auto body = [=](const Arguments& a, cudaStream_t stream) {
    crop_kernel<<<blocks_for(n), kThreads, 0, stream>>>(a.in<float>(0), a.out<float>(0), n, x[2], x[3], y[2], y[3]);
  };
  return plain_choice(request, "cuda:own:crop", make_kernel(device, body));
}

}  // namespace troika::cuda
