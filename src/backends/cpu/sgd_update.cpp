// sgd_update: one pass over a run of parameters, in the layout in which they lie.
#include "backends/cpu/kernels.h"
#include "backends/cpu/threads.h"

namespace troika::cpu {
namespace {

// p -= rate * (g * factor + decay * p)
TROIKA_VECTORIZE void plain_range(float* p, const float* g, int64_t begin, int64_t end, float rate, float decay,
                                  float factor) {
  for (int64_t i = begin; i < end; ++i) p[i] -= rate * (g[i] * factor + decay * p[i]);
}

// d = g * factor + decay * p; m = momentum * m + d; p -= rate * (nesterov ? d + momentum * m : m)
TROIKA_VECTORIZE void momentum_range(float* p, const float* g, float* m, int64_t begin, int64_t end, float rate,
                                     float decay, float momentum, bool nesterov, float factor) {
  const float gradient_part = nesterov ? 1.0f : 0.0f, momentum_part = nesterov ? momentum : 1.0f;
  for (int64_t i = begin; i < end; ++i) {
    const float d = g[i] * factor + decay * p[i];
    m[i] = momentum * m[i] + d;
    p[i] -= rate * (gradient_part * d + momentum_part * m[i]);
  }
}

}  // namespace

KernelChoice select_sgd_update(const CpuDevice&, const KernelRequest& request) {
  const Node& node = request.node;
  const float momentum = static_cast<float>(node.attributes.real("momentum")),
              decay = static_cast<float>(node.attributes.real("weight_decay"));
  const bool nesterov = node.attributes.flag("nesterov"), is_scaled = node.attributes.flag("scaled"),
             is_clipped = node.attributes.flag("clipped");
  const size_t stride = momentum > 0 ? 3 : 2, group = static_cast<size_t>(node.attributes.integer("group"));
  KernelChoice choice;
  choice.name = "cpu:sgd_update";
  choice.input_layouts = {nullptr};
  // Where each parameter begins in the run of all of them; the last entry is the end. Gradient and momentum lie as the
  // parameter does.
  std::vector<int64_t> starts = {0};
  const size_t end_of_parameters = node.inputs.size() - (is_scaled ? 2 : 0) - (is_clipped ? 1 : 0),
               clip_factor = node.inputs.size() - 1;
  for (size_t i = 1; i < end_of_parameters; i += stride) {
    const LayoutPtr layout = request.input_layouts[i];
    for (size_t k = 0; k < stride; ++k) choice.input_layouts.push_back(layout);
    starts.push_back(starts.back() +
                     static_cast<int64_t>(bytes_in(request.graph.type(node.inputs[i]), layout) / sizeof(float)));
  }
  choice.input_layouts.resize(node.inputs.size());
  auto body = [=](void* const* in, void* const*, void*) {
    const float rate = static_cast<const float*>(in[0])[group];
    if (is_scaled && *static_cast<const int32_t*>(in[end_of_parameters + 1]) == 0) return;
    float factor = is_scaled ? 1.0f / *static_cast<const float*>(in[end_of_parameters]) : 1.0f;
    if (is_clipped) factor *= *static_cast<const float*>(in[clip_factor]);
    parallel_for(starts.back(), 16384, [&](int64_t begin, int64_t end) {
      for (size_t k = 0; k + 1 < starts.size(); ++k) {
        const int64_t from = std::max(begin, starts[k]) - starts[k], to = std::min(end, starts[k + 1]) - starts[k];
        if (from >= to) continue;
        auto* p = static_cast<float*>(in[1 + k * stride]);
        const auto* g = static_cast<const float*>(in[2 + k * stride]);
        if (stride == 3)
          momentum_range(p, g, static_cast<float*>(in[3 + k * stride]), from, to, rate, decay, momentum, nesterov,
                         factor);
        else
          plain_range(p, g, from, to, rate, decay, factor);
      }
    });
  };
  choice.kernel = make_kernel(body);
  return choice;
}

}  // namespace troika::cpu
