// adagrad_update.
#include "backends/cpu/update.h"

namespace troika::cpu {
namespace {

struct AdagradNumbers {
  float rate, decay, factor, eps;
};

TROIKA_VECTORIZE void adagrad_range(float* p, const float* g, float* s, int64_t n, const AdagradNumbers& a) {
  for (int64_t i = 0; i < n; ++i) {
    const float d = g[i] * a.factor + a.decay * p[i];
    s[i] += d * d;
    p[i] -= a.rate * (d / (std::sqrt(s[i]) + a.eps));
  }
}

}  // namespace

KernelChoice select_adagrad_update(const CpuDevice&, const KernelRequest& request) {
  return update_choice(request, "cpu:adagrad_update", [](const UpdateStep& s) {
    return [a = AdagradNumbers{s.rate, s.decay, s.factor, s.own[0]}](const UpdatePiece& x) {
      adagrad_range(x.parameter, x.gradient, x.slots[0], x.n, a);
    };
  });
}

}  // namespace troika::cpu
