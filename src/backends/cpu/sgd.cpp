// sgd_update.
#include "backends/cpu/update.h"

namespace troika::cpu {
namespace {

// p -= rate * (g * factor + decay * p)
TROIKA_VECTORIZE void plain_range(float* p, const float* g, int64_t n, float rate, float decay, float factor) {
  for (int64_t i = 0; i < n; ++i) p[i] -= rate * (g[i] * factor + decay * p[i]);
}

// d = g * factor + decay * p; m = momentum * m + d; p -= rate * (nesterov ? d + momentum * m : m)
TROIKA_VECTORIZE void momentum_range(float* p, const float* g, float* m, int64_t n, float rate, float decay,
                                     float momentum, bool nesterov, float factor) {
  const float gradient_part = nesterov ? 1.0f : 0.0f, momentum_part = nesterov ? momentum : 1.0f;
  for (int64_t i = 0; i < n; ++i) {
    const float d = g[i] * factor + decay * p[i];
    m[i] = momentum * m[i] + d;
    p[i] -= rate * (gradient_part * d + momentum_part * m[i]);
  }
}

}  // namespace

KernelChoice select_sgd_update(const CpuDevice&, const KernelRequest& request) {
  return update_choice(request, "cpu:sgd_update", [](const UpdateStep& s) {
    return [s](const UpdatePiece& x) {
      if (x.slots[0])
        momentum_range(x.parameter, x.gradient, x.slots[0], x.n, s.rate, s.decay, s.own[0], s.own[1] != 0, s.factor);
      else
        plain_range(x.parameter, x.gradient, x.n, s.rate, s.decay, s.factor);
    };
  });
}

}  // namespace troika::cpu
