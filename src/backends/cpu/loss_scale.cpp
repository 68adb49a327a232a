// check_finite and update_loss_scale: whether gradients can be used, and how large the loss may be
// scaled.
#include <algorithm>
#include <atomic>
#include <bit>

#include "backends/cpu/kernels.h"
#include "backends/cpu/threads.h"

namespace troika::cpu {
namespace {

// Whether every float of [begin, end) is finite: its exponent is not all ones.
TROIKA_VECTORIZE bool finite_range(const uint32_t* bits, int64_t begin, int64_t end) {
  uint32_t bad = 0;
  for (int64_t i = begin; i < end; ++i) bad |= (bits[i] & 0x7f800000u) == 0x7f800000u;
  return bad == 0;
}

}  // namespace

KernelChoice select_check_finite(const CpuDevice&, const KernelRequest& request) {
  const std::vector<int64_t> floats = floats_of_inputs(request, request.node.inputs.size());
  auto body = [floats](void* const* in, void* const* out, void*) {
    std::atomic<int32_t> is_finite{1};
    for (size_t i = 0; i < floats.size(); ++i)
      parallel_for(floats[i], 16384, [&, bits = static_cast<const uint32_t*>(in[i])](int64_t begin, int64_t end) {
        if (!finite_range(bits, begin, end)) is_finite = 0;
      });
    *static_cast<int32_t*>(out[0]) = is_finite;
  };
  KernelChoice choice;
  choice.kernel = make_kernel(body);
  choice.name = "cpu:check_finite";
  choice.input_layouts = request.input_layouts;
  choice.output_layouts = {nullptr};
  return choice;
}

KernelChoice select_update_loss_scale(const CpuDevice&, const KernelRequest& request) {
  const Attributes& a = request.node.attributes;
  const float growth = static_cast<float>(a.real("growth")), backoff = static_cast<float>(a.real("backoff")),
              interval = static_cast<float>(a.integer("interval"));
  auto body = [=](void* const* in, void* const* out, void*) {
    auto* scale = static_cast<float*>(in[0]);  // {scale, good steps}
    if (*static_cast<const int32_t*>(in[1]) == 0) {
      scale[0] = std::max(scale[0] * backoff, 1.0f);
      scale[1] = 0;
    } else if (++scale[1] >= interval) {
      scale[0] *= growth;
      scale[1] = 0;
    }
    std::copy_n(scale, 2, static_cast<float*>(out[0]));
  };
  return uniform_choice(request, nullptr, "cpu:update_loss_scale", make_kernel(body));
}

}  // namespace troika::cpu
