// count_updates.
#include "backends/cpu/kernels.h"

namespace troika::cpu {

KernelChoice select_count_updates(const CpuDevice&, const KernelRequest& request) {
  const int64_t rows = request.graph.type(request.node.inputs[0]).shape[0];
  auto body = [rows](void* const* in, void* const*, void*) {
    if (in[1] && *static_cast<const int32_t*>(in[1]) == 0) return;
    auto* const count = static_cast<int64_t*>(in[0]);
    for (int64_t i = 0; i < rows; ++i) ++count[i];
  };
  return uniform_choice(request, nullptr, "cpu:count_updates", make_kernel(body));
}

}  // namespace troika::cpu
