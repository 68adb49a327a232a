// average_update: one pass over a run of parameters, in the layouts in which they are stored.
#include "backends/cpu/kernels.h"
#include "backends/cpu/threads.h"

namespace troika::cpu {
namespace {

// Moves the average towards the parameter, so that an average that has arrived stays.
TROIKA_VECTORIZE void average_range(float* average, const float* p, int64_t begin, int64_t end, float part) {
  for (int64_t i = begin; i < end; ++i) average[i] += part * (p[i] - average[i]);
}

}  // namespace

KernelChoice select_average_update(const CpuDevice&, const KernelRequest& request) {
  const auto part = static_cast<float>(1 - request.node.attributes.real("decay"));
  KernelChoice choice;
  choice.name = "cpu:average_update";
  choice.input_layouts = {nullptr};
  std::vector<int64_t> floats;
  for (size_t i = 1; i < request.node.inputs.size(); i += 2) {
    choice.input_layouts.insert(choice.input_layouts.end(), 2, request.input_layouts[i]);
    floats.push_back(floats_of_input(request, i));
  }
  choice.kernel = make_kernel([floats, part](void* const* in, void* const*, void*) {
    if (in[0] && *static_cast<const int32_t*>(in[0]) == 0) return;
    for (size_t k = 0; k < floats.size(); ++k)
      parallel_for(floats[k], 16384,
                   [&, average = static_cast<float*>(in[1 + 2 * k]), p = static_cast<const float*>(in[2 + 2 * k])](
                       int64_t begin, int64_t end) { average_range(average, p, begin, end, part); });
  });
  return choice;
}

}  // namespace troika::cpu
