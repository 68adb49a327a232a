// slice_channels and join_channels: runs of plain values [n, c, ...], copied.
#include "backends/cuda/elements.cuh"
#include "backends/cuda/grid.cuh"
#include "backends/cuda/kernels.h"

namespace troika::cuda {
namespace {

constexpr int kMostRanks = 128;  // of a channel group: what a kernel's arguments hold

// y [n, y_sample] from x [n, x_sample], from element `offset` of each sample on.
__global__ void slice_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t n, int64_t x_sample,
                             int64_t y_sample, int64_t offset) {
  for (int64_t i = first_index(); i < n; i += index_step()) y[i] = x[i / y_sample * x_sample + i % y_sample + offset];
}

// Where the run of each rank begins in a sample of y; the last entry is the end.
struct Starts {
  int ranks;
  int64_t of[kMostRanks + 1];
};

// y [samples, y_sample] from x, which has the runs of all samples rank by rank.
template <typename T>
__global__ void join_kernel(const T* __restrict__ x, T* __restrict__ y, int64_t samples, int64_t y_sample,
                            const __grid_constant__ Starts starts) {
  for (int64_t i = first_index(); i < samples * y_sample; i += index_step()) {
    const int64_t sample = i / y_sample, at = i % y_sample;
    int rank = 0;
    while (at >= starts.of[rank + 1]) ++rank;
    const int64_t begin = starts.of[rank], run = starts.of[rank + 1] - begin;
    y[i] = x[samples * begin + sample * run + at - begin];
  }
}

}  // namespace

KernelChoice select_slice_channels(CudaDevice& device, const KernelRequest& request) {
  const Shape x = input_type(request, 0).shape, y = output_type(request, 0).shape;
  const int64_t n = y.elements(), x_sample = x.elements() / x[0], y_sample = n / y[0];
  const int64_t offset = request.node.attributes.integer("begin") * (x_sample / x[1]);
  auto body = [=](const Arguments& a, cudaStream_t stream) {
    slice_kernel<<<blocks_for(n), kThreads, 0, stream>>>(a.in<float>(0), a.out<float>(0), n, x_sample, y_sample,
                                                         offset);
  };
  return plain_choice(request, "cuda:own:slice_channels", make_kernel(device, body));
}

KernelChoice select_join_channels(CudaDevice& device, const KernelRequest& request) {
  const TensorType y = output_type(request, 0);
  const int64_t samples = y.shape[0], y_sample = y.shape.elements() / samples, channel = y_sample / y.shape[1];
  const std::vector<int64_t>& widths = request.node.attributes.list("widths");
  if (widths.size() > kMostRanks)
    throw Error(Status::unsupported, text("join_channels '", request.node.name, "': a channel group has ", widths.size(),
                                          " devices, GPUs take at most ", kMostRanks));
  Starts starts{static_cast<int>(widths.size()), {}};
  for (size_t r = 0; r < widths.size(); ++r) starts.of[r + 1] = starts.of[r] + widths[r] * channel;
  return with_type(y.dtype, [&](auto zero) {
    using T = decltype(zero);
    auto body = [=](const Arguments& a, cudaStream_t stream) {
      join_kernel<T><<<blocks_for(samples * y_sample), kThreads, 0, stream>>>(a.in<T>(0), a.out<T>(0), samples,
                                                                              y_sample, starts);
    };
    return plain_choice(request, "cuda:own:join_channels", make_kernel(device, body));
  });
}

}  // namespace troika::cuda
