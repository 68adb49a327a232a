// slice_channels and pad_channels: runs of plain values [n, c, ...], copied.
#include "backends/cuda/elements.cuh"
#include "backends/cuda/grid.cuh"
#include "backends/cuda/kernels.h"

namespace troika::cuda {
namespace {

// y [n, y_sample] from x [n, x_sample]: element i of a sample is element i + offset of x, or 0 where there is none.
__global__ void shift_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t n, int64_t x_sample,
                             int64_t y_sample, int64_t offset) {
  for (int64_t i = first_index(); i < n; i += index_step()) {
    const int64_t sample = i / y_sample, at = i % y_sample + offset;
    y[i] = at >= 0 && at < x_sample ? x[sample * x_sample + at] : 0;
  }
}

// `channels`: how many of x's, or of y's where negative, lie in front of the other's.
KernelChoice choose(CudaDevice& device, const KernelRequest& request, const char* name, int64_t channels) {
  const Shape x = input_type(request, 0).shape, y = output_type(request, 0).shape;
  const int64_t n = y.elements(), x_sample = x.elements() / x[0], y_sample = n / y[0];
  const int64_t offset = channels * (x_sample / x[1]);
  auto body = [=](const Arguments& a, cudaStream_t stream) {
    shift_kernel<<<blocks_for(n), kThreads, 0, stream>>>(a.in<float>(0), a.out<float>(0), n, x_sample, y_sample,
                                                         offset);
  };
  return plain_choice(request, name, make_kernel(device, body));
}

}  // namespace

KernelChoice select_slice_channels(CudaDevice& device, const KernelRequest& request) {
  return choose(device, request, "cuda:own:slice_channels", request.node.attributes.integer("begin"));
}

KernelChoice select_pad_channels(CudaDevice& device, const KernelRequest& request) {
  return choose(device, request, "cuda:own:pad_channels", -request.node.attributes.integer("begin"));
}

}  // namespace troika::cuda
