// split_steps and join_steps: runs of plain sequences [n, steps, ...], copied. If steps are on a
// later axis, the axes before it count as samples.
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/grid.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/pack_width.cuh"
#include "ops/channels.h"

namespace troika::cuda {
namespace {

constexpr int kMostParts = 200;  // of a launch: what a kernel's arguments hold

// Parts [n, ...] and their first packs in a sample of the whole; the last entry is the end.
struct Parts {
  void* of[kMostParts];
  int64_t begin[kMostParts + 1];
};

// Between whole [n, sample] and its parts, of which a column of blocks each takes one.
template <typename P, bool joins>
__global__ void __launch_bounds__(kThreads)
    copy_parts_kernel(P* whole, const __grid_constant__ Parts parts, int64_t n, int64_t sample) {
  wait_for_kernels_before();
  const int64_t begin = parts.begin[blockIdx.y], length = parts.begin[blockIdx.y + 1] - begin;
  P* const part = static_cast<P*>(parts.of[blockIdx.y]);
  for (int64_t i = first_index(); i < n * length; i += index_step()) {
    const int64_t own = i / length, at = own * sample + begin + i - own * length;
    if constexpr (joins)
      whole[at] = part[i];
    else
      part[i] = whole[at];
  }
}

// Whose `parts` are a split's outputs, or a join's inputs.
template <bool joins>
KernelChoice copying(CudaDevice& device, const KernelRequest& request, const TensorType& whole,
                     const std::vector<ValueId>& parts, const char* name) {
  const int axis = axis_of(request.node), rank = whole.shape.rank();
  const int64_t n = whole.shape.elements(0, axis), step = whole.shape.elements(axis + 1, rank);
  return with_pack<float>(step, [&](auto pack) {
    using P = Pack<float, decltype(pack)::value>;
    const int64_t step_packs = step / decltype(pack)::value;
    std::vector<int64_t> begins = {0};
    int64_t longest = 0;
    for (ValueId id : parts) {
      const int64_t length = request.graph.type(id).shape[axis] * step_packs;
      begins.push_back(begins.back() + length);
      longest = std::max(longest, length);
    }
    auto body = [=](const Arguments& a, cudaStream_t stream) {
      const std::vector<void*>& addresses = joins ? a.inputs : a.outputs;
      const auto total = static_cast<int>(addresses.size());
      for (int first = 0; first < total; first += kMostParts) {
        const int count = std::min(kMostParts, total - first);
        Parts table{};
        std::copy_n(addresses.begin() + first, count, table.of);
        std::copy_n(begins.begin() + first, count + 1, table.begin);
        const dim3 grid(blocks_for(n * longest), static_cast<unsigned>(count));
        copy_parts_kernel<P, joins><<<grid, kThreads, 0, stream>>>(static_cast<P*>(joins ? a.outputs[0] : a.inputs[0]),
                                                                   table, n, begins.back());
      }
    };
    return plain_choice(request, name, make_kernel(device, body));
  });
}

}  // namespace

KernelChoice select_split_steps(CudaDevice& device, const KernelRequest& request) {
  return copying<false>(device, request, input_type(request, 0), request.node.outputs, "cuda:own:split_steps");
}

KernelChoice select_join_steps(CudaDevice& device, const KernelRequest& request) {
  return copying<true>(device, request, output_type(request, 0), request.node.inputs, "cuda:own:join_steps");
}

}  // namespace troika::cuda
