// rmsprop_update.
#include "backends/cpu/update.h"

namespace troika::cpu {
namespace {

struct RmspropNumbers {
  float rate, decay, factor, alpha, eps, momentum;
};

TROIKA_VECTORIZE void plain_range(float* p, const float* g, float* v, int64_t n, const RmspropNumbers& a) {
  for (int64_t i = 0; i < n; ++i) {
    const float d = g[i] * a.factor + a.decay * p[i];
    v[i] = a.alpha * v[i] + (1 - a.alpha) * d * d;
    p[i] -= a.rate * (d / (std::sqrt(v[i]) + a.eps));
  }
}

TROIKA_VECTORIZE void momentum_range(float* p, const float* g, float* v, float* m, int64_t n, const RmspropNumbers& a) {
  for (int64_t i = 0; i < n; ++i) {
    const float d = g[i] * a.factor + a.decay * p[i];
    v[i] = a.alpha * v[i] + (1 - a.alpha) * d * d;
    m[i] = a.momentum * m[i] + d / (std::sqrt(v[i]) + a.eps);
    p[i] -= a.rate * m[i];
  }
}

}  // namespace

KernelChoice select_rmsprop_update(const CpuDevice&, const KernelRequest& request) {
  return update_choice(request, "cpu:rmsprop_update", [](const UpdateStep& s) {
    return [a = RmspropNumbers{s.rate, s.decay, s.factor, s.own[0], s.own[1], s.own[2]}](const UpdatePiece& x) {
      if (x.slots[1])
        momentum_range(x.parameter, x.gradient, x.slots[0], x.slots[1], x.n, a);
      else
        plain_range(x.parameter, x.gradient, x.slots[0], x.n, a);
    };
  });
}

}  // namespace troika::cpu
