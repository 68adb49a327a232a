// crop: rows of a plain image, copied.
#include <cstring>

#include "backends/cpu/kernels.h"
#include "backends/cpu/threads.h"

namespace troika::cpu {

KernelChoice select_crop(const CpuDevice&, const KernelRequest& request) {
  const Shape x = request.graph.type(request.node.inputs[0]).shape, y = request.graph.type(request.node.outputs[0]).shape;
  auto body = [x, y](void* const* in, void* const* out, void*) {
    const auto* source = static_cast<const float*>(in[0]);
    auto* target = static_cast<float*>(out[0]);
    parallel_for(y[0] * y[1], 16, [&](int64_t begin, int64_t end) {
      for (int64_t image = begin; image < end; ++image)
        for (int64_t row = 0; row < y[2]; ++row)
          std::memcpy(target + (image * y[2] + row) * y[3], source + (image * x[2] + row) * x[3],
                      static_cast<size_t>(y[3]) * sizeof(float));
    });
  };
  return uniform_choice(request, nullptr, "cpu:crop", make_kernel(body));
}

}  // namespace troika::cpu
