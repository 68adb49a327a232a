// split_steps and join_steps: runs of plain sequences [n, steps, ...], copied. If steps are on a
// later axis, the axes before it count as samples.
#include <algorithm>
#include <numeric>

#include "backends/cpu/kernels.h"
#include "backends/cpu/threads.h"
#include "ops/channels.h"

namespace troika::cpu {
namespace {

// Floats that a sample has in each of the parts.
std::vector<int64_t> part_floats(const KernelRequest& request, const std::vector<ValueId>& parts) {
  std::vector<int64_t> floats;
  for (ValueId id : parts) {
    const Shape& shape = request.graph.type(id).shape;
    floats.push_back(shape.elements(axis_of(request.node), shape.rank()));
  }
  return floats;
}

}  // namespace

KernelChoice select_split_steps(const CpuDevice&, const KernelRequest& request) {
  const int64_t n = request.graph.type(request.node.inputs[0]).shape.elements(0, axis_of(request.node));
  auto body = [n, parts = part_floats(request, request.node.outputs)](void* const* in, void* const* out, void*) {
    parallel_for(n, 1, [&](int64_t begin, int64_t end) {
      const int64_t sample = std::accumulate(parts.begin(), parts.end(), int64_t{0});
      for (int64_t i = begin; i < end; ++i) {
        const float* from = static_cast<const float*>(in[0]) + i * sample;
        for (size_t k = 0; k < parts.size(); from += parts[k++])
          std::copy_n(from, parts[k], static_cast<float*>(out[k]) + i * parts[k]);
      }
    });
  };
  return uniform_choice(request, nullptr, "cpu:split_steps", make_kernel(body));
}

KernelChoice select_join_steps(const CpuDevice&, const KernelRequest& request) {
  const int64_t n = request.graph.type(request.node.outputs[0]).shape.elements(0, axis_of(request.node));
  auto body = [n, parts = part_floats(request, request.node.inputs)](void* const* in, void* const* out, void*) {
    parallel_for(n, 1, [&](int64_t begin, int64_t end) {
      const int64_t sample = std::accumulate(parts.begin(), parts.end(), int64_t{0});
      for (int64_t i = begin; i < end; ++i) {
        float* to = static_cast<float*>(out[0]) + i * sample;
        for (size_t k = 0; k < parts.size(); to += parts[k++])
          std::copy_n(static_cast<const float*>(in[k]) + i * parts[k], parts[k], to);
      }
    });
  };
  return uniform_choice(request, nullptr, "cpu:join_steps", make_kernel(body));
}

}  // namespace troika::cpu
