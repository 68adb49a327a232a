// batch_results.
#include <algorithm>

#include "backends/cpu/kernels.h"

namespace troika::cpu {

KernelChoice select_batch_results(const CpuDevice&, const KernelRequest& request) {
  const Node& node = request.node;
  const int64_t first = node.attributes.integer("first"), places = node.attributes.integer("places");
  const size_t inputs = node.inputs.size(), losses = static_cast<size_t>(node.attributes.integer("losses"));
  auto body = [=](void* const* in, void* const* out, void*) {
    auto* const results = static_cast<double*>(out[0]);
    std::fill_n(results, places + 1, 0.0);
    for (size_t i = 0; i < losses; ++i) results[first + static_cast<int64_t>(i)] = *static_cast<const double*>(in[i]);
    for (size_t i = losses; i < inputs; ++i)
      results[places] += static_cast<double>(*static_cast<const int64_t*>(in[i]));
  };
  KernelChoice choice;
  choice.kernel = make_kernel(body);
  choice.name = "cpu:batch_results";
  choice.input_layouts.resize(inputs);
  choice.output_layouts = {nullptr};
  return choice;
}

}  // namespace troika::cpu
