// slice_channels, join_channels and part_channels: runs of plain values [samples, c, ...], copied.
// If channels are on a later axis, the axes before it count as samples.
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/grid.cuh"
#include "backends/cuda/kernels.h"
#include "core/text.h"
#include "ops/channels.h"

namespace troika::cuda {
namespace {

constexpr int kMostRanks = 128;  // of a channel group: what a kernel's arguments hold

// y [n, y_sample] from x [n, x_sample], from element `offset` of each sample on.
template <typename T>
__global__ void slice_kernel(const T* __restrict__ x, T* __restrict__ y, int64_t n, int64_t x_sample, int64_t y_sample,
                             int64_t offset) {
  wait_for_kernels_before();
  for (int64_t i = first_index(); i < n; i += index_step()) y[i] = x[i / y_sample * x_sample + i % y_sample + offset];
}

// Where the run of each rank begins in a sample of y; the last entry is the end.
struct Starts {
  int ranks;
  int64_t of[kMostRanks + 1];
};

// Returns the packed place of element i of [samples, length]: the runs of all samples, rank by
// rank.
__device__ int64_t packed_index(int64_t i, int64_t samples, int64_t length, const Starts& starts) {
  const int64_t sample = i / length, at = i % length;
  int rank = 0;
  while (at >= starts.of[rank + 1]) ++rank;
  const int64_t begin = starts.of[rank], run = starts.of[rank + 1] - begin;
  return samples * begin + sample * run + at - begin;
}

// Joins packed numbers to values [samples, length], or packs them.
template <typename T, bool joins>
__global__ void repack_kernel(const T* __restrict__ x, T* __restrict__ y, int64_t samples, int64_t length,
                              const __grid_constant__ Starts starts) {
  wait_for_kernels_before();
  for (int64_t i = first_index(); i < samples * length; i += index_step()) {
    const int64_t packed = packed_index(i, samples, length, starts);
    if constexpr (joins)
      y[i] = x[packed];
    else
      y[packed] = x[i];
  }
}

// Returns the starts for values `whole` [n, c, ...].
Starts starts_of(const KernelRequest& request, const Shape& whole) {
  const std::vector<int64_t>& widths = request.node.attributes.list("widths");
  const int64_t channel = whole.elements(axis_of(request.node) + 1, whole.rank());
  if (widths.size() > kMostRanks)
    throw Error(Status::unsupported, text(request.node.op, " '", request.node.name, "': a channel group has ",
                                          widths.size(), " devices, GPUs take at most ", kMostRanks));
  Starts starts{static_cast<int>(widths.size()), {}};
  for (size_t r = 0; r < widths.size(); ++r) starts.of[r + 1] = starts.of[r] + widths[r] * channel;
  return starts;
}

// Between values `whole` [n, c, ...] and the same packed.
template <bool joins>
KernelChoice repacking(CudaDevice& device, const KernelRequest& request, const TensorType& whole, const char* name) {
  const int64_t samples = whole.shape.elements(0, axis_of(request.node)), length = whole.shape.elements() / samples;
  const Starts starts = starts_of(request, whole.shape);
  return with_type(whole.dtype, [&](auto zero) {
    using T = decltype(zero);
    auto body = [=](const Arguments& a, cudaStream_t stream) {
      repack_kernel<T, joins>
          <<<blocks_for(samples * length), kThreads, 0, stream>>>(a.in<T>(0), a.out<T>(0), samples, length, starts);
    };
    return plain_choice(request, name, make_kernel(device, body));
  });
}

}  // namespace

KernelChoice select_slice_channels(CudaDevice& device, const KernelRequest& request) {
  const Shape x = input_type(request, 0).shape, y = output_type(request, 0).shape;
  const int axis = axis_of(request.node);
  const int64_t n = y.elements(), x_sample = x.elements(axis, x.rank()), y_sample = y.elements(axis, y.rank());
  const int64_t offset = request.node.attributes.integer("begin") * x.elements(axis + 1, x.rank());
  return with_type(input_type(request, 0).dtype, [&](auto zero) {
    using T = decltype(zero);
    auto body = [=](const Arguments& a, cudaStream_t stream) {
      slice_kernel<<<blocks_for(n), kThreads, 0, stream>>>(a.in<T>(0), a.out<T>(0), n, x_sample, y_sample, offset);
    };
    return plain_choice(request, "cuda:own:slice_channels", make_kernel(device, body));
  });
}

KernelChoice select_join_channels(CudaDevice& device, const KernelRequest& request) {
  return repacking<true>(device, request, output_type(request, 0), "cuda:own:join_channels");
}

KernelChoice select_part_channels(CudaDevice& device, const KernelRequest& request) {
  return repacking<false>(device, request, input_type(request, 0), "cuda:own:part_channels");
}

}  // namespace troika::cuda
