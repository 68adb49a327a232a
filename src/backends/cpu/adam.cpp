// adam_update.
#include "backends/cpu/update.h"

namespace troika::cpu {
namespace {

struct AdamNumbers {
  float decay, factor, beta1, beta2, eps;
  float rate;   // over the bias correction of the mean
  float scale;  // 1 over the root of the bias correction of the square
};

TROIKA_VECTORIZE void adam_range(float* p, const float* g, float* m, float* v, int64_t n, const AdamNumbers& a) {
  for (int64_t i = 0; i < n; ++i) {
    const float d = g[i] * a.factor + a.decay * p[i];
    m[i] = a.beta1 * m[i] + (1 - a.beta1) * d;
    v[i] = a.beta2 * v[i] + (1 - a.beta2) * d * d;
    p[i] -= a.rate * m[i] / (std::sqrt(v[i]) * a.scale + a.eps);
  }
}

}  // namespace

KernelChoice select_adam_update(const CpuDevice&, const KernelRequest& request) {
  return update_choice(request, "cpu:adam_update", [](const UpdateStep& s) {
    const AdamNumbers a{s.decay,
                        s.factor,
                        s.own[0],
                        s.own[1],
                        s.own[2],
                        static_cast<float>(static_cast<double>(s.rate) / s.correction(0)),
                        static_cast<float>(1 / std::sqrt(s.correction(1)))};
    return [a](const UpdatePiece& x) { adam_range(x.parameter, x.gradient, x.slots[0], x.slots[1], x.n, a); };
  });
}

}  // namespace troika::cpu
